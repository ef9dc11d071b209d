"""Makes PyTorch's CUDA build importable without NVIDIA's packages: stand-ins for the libraries that it is linked to.

Run: `python -m hocket.bench.cuda_stubs SITE_PACKAGES`. PyPI has no PyTorch for CPUs alone; `pip install --no-deps
torch` downloads 0.5 to 0.9 GB instead of 3 GB, and fails to load for want of libraries that work on CPUs never calls.
Here each of them becomes a library of the right name, in `torch/lib`, whose functions return an error (100,
cudaErrorNoDevice). Needs gcc and binutils.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import write_file
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["stub_libraries"]

#: Symbols by version, "" without one.
_ByVersion = dict[str, set[str]]

_FOREIGN = re.compile(r"lib(cu|nv|nccl)")
_DRIVER = "libcuda.so.1"  # is loaded by name, not linked; to find it would mean that there is a GPU
# Which library an unversioned symbol is looked for in, by how it begins; the first that fits.
_PREFIXES = {
    "cusparseLt": "libcusparseLt",
    "cusparse": "libcusparse.",
    "cublasLt": "libcublasLt",
    "cublas": "libcublas.",
    "cudnn": "libcudnn",
    "cufft": "libcufft",
    "cuFile": "libcufile",
    "cusolver": "libcusolver",
    "curand": "libcurand",
    "pnccl": "libnccl",
    "nccl": "libnccl",
    "nvrtc": "libnvrtc",
    "nvshmem": "libnvshmem",
    "cupti": "libcupti",
    "nvJitLink": "libnvJitLink",
    "nvtx": "libnvToolsExt",
    "__cuda": "libcudart",
    "cuda": "libcudart",
    "cu": "libcudart",
    "nv": "libnvToolsExt",
}


def stub_libraries(site_packages: Path) -> list[str]:
    """Makes what the PyTorch there lacks; the names. Raises HocketError where a tool is missing or fails."""
    folder = site_packages / "torch" / "lib"
    libraries = sorted(path for path in folder.glob("lib*.so*") if path.is_file())
    needed, home_of_version = _links(libraries)
    missing = sorted(
        name for name in needed - {path.name for path in libraries} if _FOREIGN.match(name) and name != _DRIVER
    )
    symbols = _symbols(libraries, missing, home_of_version)
    with scratch_folder("bench") as scratch:
        for name in missing:
            _compile(name, symbols[name], folder / name, scratch)
    return missing


def _links(libraries: list[Path]) -> tuple[set[str], dict[str, str]]:
    """The libraries that these are linked to; and which of those has symbols of a version."""
    needed, home_of_version = set(), {}
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.*?)\]", _said("readelf", "-d", str(library))))
        home = ""
        for line in _said("readelf", "-V", "-W", str(library)).splitlines():
            if found := re.search(r"File: (\S+)", line):
                home = found[1]
            if (found := re.search(r"Name: (\S+)\s+Flags", line)) and home:
                home_of_version[found[1]] = home
    return needed, home_of_version


def _symbols(
    libraries: list[Path], missing: list[str], home_of_version: dict[str, str]
) -> dict[str, dict[str, set[str]]]:
    """Of each missing library, the symbols that are looked for in it, by version ("" without one)."""
    undefined, defined = set(), set()
    for library in libraries:
        for line in _said("nm", "-D", "--with-symbol-versions", str(library)).splitlines():
            fields = line.split()
            if len(fields) == 2 and fields[0] in "Uw":
                undefined.add(fields[1])
            elif len(fields) > 2:
                defined.add(fields[-1].partition("@")[0])
    found: dict[str, _ByVersion] = defaultdict(lambda: defaultdict(set))
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        version = version.lstrip("@")
        if version:
            found[home_of_version.get(version, "")][version].add(name)
        elif name not in defined:
            prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
            homes = [library for library in missing if prefix and library.startswith(_PREFIXES[prefix])]
            if homes:
                found[homes[0]][""].add(name)
    return found


def _compile(name: str, by_version: _ByVersion, library: Path, scratch: Path) -> None:
    names = sorted(set().union(*by_version.values()))
    source, versions = scratch / f"{name}.c", scratch / f"{name}.map"
    write_file(source, "".join(f"int {symbol}(void) {{ return 100; }}\n" for symbol in names) or "int stub;\n")
    parts = [
        f"{version} {{ global: {'; '.join(sorted(found))}; }};\n" for version, found in by_version.items() if version
    ]
    write_file(versions, "".join(parts))
    command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", "-o", str(library), str(source), f"-Wl,-soname,{name}"]
    if versions.stat().st_size:
        command.append(f"-Wl,--version-script={versions}")
    _said(*command)


def _said(*command: str) -> str:
    try:
        finished = processes.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise HocketError(f"{command[0]}: {error.strerror}: apt-get install gcc binutils") from error
    if finished.returncode:
        raise HocketError(f"{command[0]} failed: {finished.stderr.strip()[-500:]}")
    return str(finished.stdout)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("site_packages", type=Path, help="folder in which torch lies")
    stubs = stub_libraries(parser.parse_args().site_packages)
    print(f"{len(stubs)} libraries: {', '.join(stubs)}")
