"""NCCL's host code compiled from its sources, unchanged, with its kernels and CUDA as stand-ins of ours."""

import fcntl
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.files import growing_file, make_folder
from hocket.base.processes import run
from hocket.base.scratch import hand_over, scratch_folder
from hocket.nccl.stock.cuda_headers import CudaHeaders
from hocket.nccl.stock.sources import NcclSources

__all__ = ["StockBuild", "build"]

STAND_INS = Path(__file__).parent / "stand_ins"
_FLAGS = ["-fPIC", "-std=c++17", "-w", "-pthread"]
_NCCL = ["-fvisibility=hidden", "-DNCCL_OS_LINUX", "-DPROFAPI", "-DENABLE_TRACE"]
_NO_GDAKI = ["-DNCCL_GIN_PROXY_ENABLE=1", "-DNCCL_GIN_GDAKI_ENABLE=0"]
_OF_RCCL = ("hip_runtime", "amd_smi")  # stand-ins that NCCL is not linked with
_KERNELS = re.compile(r"__global__ void (\w+)\((\w+) const\);")
_UNDEFINED = re.compile(r"undefined reference to `([^']+)'")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class StockBuild:
    """`folder` holds libnccl.so.2, what it is linked to, the net plugin and the `player` that runs calls; `absent`:
    functions that this release refers to and the stand-ins lack."""

    sources: NcclSources
    folder: Path
    absent: tuple[str, ...]

    @property
    def player(self) -> Path:
        return self.folder / "player"

    @property
    def net_plugin(self) -> Path:
        return self.folder / "libnccl-net-hocket.so"


def build(sources: NcclSources, headers: CudaHeaders, under: Path, progress: Progress) -> StockBuild:
    """Builds into folders of its own under `under`, or finds it built. What NCCL's sources compiled to is kept apart
    from what it is linked with, so that a change of the stand-ins, or an interruption, compiles none of it again.
    Raises HocketError with the compiler's words where NCCL's sources do not compile."""
    if shutil.which("g++") is None:
        raise HocketError("g++ is needed to build NCCL: apt-get install g++")
    compiled = under / f"nccl-{sources.name}-{_digest(_nccl_parts(sources, headers))}"
    folder = compiled / f"linked-{_digest(_own_parts())}"
    absent = folder / "absent.txt"
    if not absent.exists():
        with growing_file(make_folder(compiled) / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not absent.exists():
                _Builder(sources, headers, compiled, folder, progress).all()
    return StockBuild(sources, folder, tuple(absent.read_text(encoding="utf-8").split()))


def _nccl_parts(sources: NcclSources, headers: CudaHeaders) -> Iterator[bytes]:
    compiler = run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    yield repr((headers.version, _FLAGS, _NCCL, _NO_GDAKI, compiler, sources.host_files)).encode()
    for path in sorted(sources.src.rglob("*")):
        if path.suffix in (".cc", ".h", ".cu", ".cuh", ".py", ".in") and path.is_file():
            yield str(path.relative_to(sources.src)).encode() + path.read_bytes()


def _own_parts() -> Iterator[bytes]:
    for path in [*sorted(STAND_INS.iterdir()), Path(__file__)]:
        if path.is_file() and path.stem not in _OF_RCCL:
            yield path.name.encode() + path.read_bytes()


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:12]


class _Builder:
    """Compiles NCCL into `compiled`, once, and links it with the stand-ins in `folder`."""

    def __init__(
        self, sources: NcclSources, headers: CudaHeaders, compiled: Path, folder: Path, progress: Progress
    ) -> None:
        self._sources, self._compiled, self._folder, self._progress = sources, compiled, folder, progress
        self._objects = compiled / "objects"
        major, minor = headers.version
        self._flags = [*_FLAGS, f"-DCUDA_MAJOR={major}", f"-DCUDA_MINOR={minor}", *_NO_GDAKI]
        self._cuda = [f"-isystem{path}" for path in headers.folders]
        own = ["include", "include/plugin", "transport/net_ib/gdaki/doca-gpunetio/include"]
        self._includes = [f"-I{compiled / 'include'}", f"-I{sources.src}", *(f"-I{sources.src / path}" for path in own)]

    def all(self) -> None:
        for part in (self._objects, self._compiled / "include", self._folder):
            make_folder(part)
        self._write_headers()
        tables = self._write_tables()
        files = [self._sources.src / file for file in self._sources.host_files]
        compiled = self._compile([*files, *tables])
        kernels = self._folder / "kernels.o"
        self._compiler(["-O2", *_NCCL, *self._includes, "-c", str(STAND_INS / "kernels.cpp"), "-o", str(kernels)])
        self._link_cuda()
        absent = self._link_nccl([*compiled, kernels])
        self._link_player()
        hand_over(self._folder / "absent.txt", "\n".join(absent))

    def _write_headers(self) -> None:
        """What NCCL's Makefile makes of its templates."""
        src, include = self._sources.src, self._compiled / "include"
        major, minor, patch = self._sources.version
        values = {"Major": major, "Minor": minor, "Patch": patch, "Suffix": self._sources.suffix}
        text = (src / "nccl.h.in").read_text(encoding="utf-8")
        for name, value in (values | {"Version": self._sources.code}).items():
            text = text.replace(f"${{nccl:{name}}}", str(value))
        hand_over(include / "nccl.h", text)
        hand_over(
            include / "nccl_git_version.h",
            '#define NCCL_GIT_BRANCH "unknown"\n#define NCCL_GIT_COMMIT_HASH "unknown"\n',
        )
        device = src / "include" / "nccl_device"
        for header in sorted(device.rglob("*.h")):
            copy = include / header.relative_to(src / "include")
            make_folder(copy.parent)
            hand_over(copy, header.read_bytes())
        if device.is_dir():
            hand_over(include / "nccl_device.h", (src / "include" / "nccl_device.h").read_bytes())

    def _write_tables(self) -> list[Path]:
        """The tables of kernels that NCCL's generators write for the host, and its kernels as functions that do
        nothing: a launch is what the stand-in for CUDA makes of it."""
        lines = ['#include "device.h"']
        tables = []
        for name, script, table in (
            ("device", "device/generate.py", "host_table.cc"),
            ("symmetric", "device/symmetric/generate.py", "sym*.cc"),
        ):
            out = self._compiled / name
            make_folder(out)
            self._run([sys.executable, str(self._sources.src / script), str(out)], cwd=self._sources.src / "device")
            found = sorted(out.glob(table))
            if len(found) != 1:
                raise HocketError(f"{script} of NCCL {self._sources.name} wrote no {table}")
            tables += found
            kernels = sorted(set(_KERNELS.findall(found[0].read_text(encoding="utf-8"))))
            if name == "symmetric" and kernels:
                header = "sym_kernels.h" if (self._sources.src / "include/sym_kernels.h").exists() else "symmetric.h"
                lines.append(f'#include "{header}"')
            lines += [f"__global__ void {kernel}({arguments} const) {{}}" for kernel, arguments in kernels]
        hand_over(self._compiled / "kernel_names.cc", "\n".join(lines) + "\n")
        return [*tables, self._compiled / "kernel_names.cc"]

    def _compile(self, files: Sequence[Path]) -> list[Path]:
        """One object a file; those there are kept."""
        objects = [self._objects / (_object_name(file, self._sources.src) + ".o") for file in files]
        todo = [(file, made) for file, made in zip(files, objects, strict=True) if not made.exists()]
        done = len(files) - len(todo)

        def compile_one(pair: tuple[Path, Path]) -> str:
            file, made = pair
            # Quickest built: it decides, which takes little time; what moves the data is ours.
            with scratch_folder("object", self._objects) as scratch:
                self._compiler(["-O0", *_NCCL, *self._includes, "-c", str(file), "-o", str(scratch / "part.o")])
                hand_over(made, (scratch / "part.o").read_bytes())
            return file.name

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name in pool.map(compile_one, todo):
                done += 1
                self._progress(done, len(files), name)
        return objects

    def _link_cuda(self) -> None:
        shared = ["-shared", "-O1", "-Wl,--no-undefined"]
        cuda = [STAND_INS / f"{name}.cpp" for name in ("device", "multicast", "streams", "cuda_runtime", "cuda_driver")]
        self._compiler([*shared, *map(str, cuda), "-o", str(self._folder / "libhocket-cuda.so")])
        nvml = [str(STAND_INS / "nvml.cpp"), str(STAND_INS / "device.cpp")]
        self._compiler([*shared, "-fvisibility=hidden", *nvml, "-o", str(self._folder / "libnvidia-ml.so.1")])

    def _link_nccl(self, objects: Sequence[Path]) -> list[str]:
        """Links the library; what it refers to and nobody defines becomes a function that fails and says its name."""
        out = self._folder / "libnccl.so.2"
        link = ["-shared", "-Wl,-soname,libnccl.so.2", "-Wl,--no-undefined", "-Wl,--no-demangle", *map(str, objects)]
        link += [f"-L{self._folder}", "-lhocket-cuda", "-ldl", "-lrt", "-Wl,-rpath,$ORIGIN", "-o", str(out)]
        plain = os.environ | {"LC_ALL": "C"}  # what it says is read
        first = run(["g++", *self._flags, *link], capture_output=True, text=True, env=plain)
        absent = sorted(set(_UNDEFINED.findall(first.stderr)))
        if first.returncode != 0 and not absent:
            raise HocketError(f"NCCL {self._sources.name} does not link: {first.stderr.strip()[-2000:]}")
        if absent:
            lines = ["#include <cstdio>"]
            for number, name in enumerate(absent):
                lines.append(
                    f'extern "C" int absent_{number}() asm("{name}");\nint absent_{number}() {{ fprintf(stderr,'
                    f' "hocket: NCCL called {name}, which the stand-ins lack\\n"); return 3; }}'
                )
            hand_over(self._folder / "absent.cc", "\n".join(lines) + "\n")
            self._compiler([str(self._folder / "absent.cc"), *link])
        return absent

    def _link_player(self) -> None:
        player = [
            str(STAND_INS / "player.cpp"),
            f"-L{self._folder}",
            "-l:libnccl.so.2",
            "-lhocket-cuda",
            "-Wl,-rpath,$ORIGIN",
        ]
        self._compiler([f"-I{self._compiled / 'include'}", *player, "-O1", "-o", str(self._folder / "player")])
        net = ["-shared", "-O1", str(STAND_INS / "net_plugin.cpp")]
        self._compiler([*net, "-o", str(self._folder / "libnccl-net-hocket.so")])

    def _compiler(self, arguments: Sequence[str]) -> None:
        self._run(["g++", *self._flags, *arguments[:1], *self._cuda, *arguments[1:]])

    def _run(self, command: Sequence[str], cwd: Path | None = None) -> None:
        done = run(command, cwd=cwd, capture_output=True, text=True)
        if done.returncode != 0:
            raise HocketError(
                f"building NCCL {self._sources.name}, {' '.join(command)[:200]} ... failed:\n{done.stderr[-3000:]}"
            )


def _object_name(file: Path, src: Path) -> str:
    return "_".join(file.relative_to(src).parts) if file.is_relative_to(src) else file.name
