"""NCCL's host code compiled from its sources, unchanged, with its kernels and CUDA as stand-ins of ours."""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.processes import run
from hocket.nccl.stock.cuda_headers import CudaHeaders
from hocket.nccl.stock.sources import NcclSources

__all__ = ["StockBuild", "build", "build_folder"]

STAND_INS = Path(__file__).parent / "stand_ins"
_FLAGS = ["-fPIC", "-std=c++17", "-w", "-pthread"]
_NCCL = ["-fvisibility=hidden", "-DNCCL_OS_LINUX", "-DPROFAPI", "-DENABLE_TRACE"]
_NO_GDAKI = ["-DNCCL_GIN_PROXY_ENABLE=1", "-DNCCL_GIN_GDAKI_ENABLE=0"]
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


def build_folder(sources: NcclSources, headers: CudaHeaders, under: Path) -> Path:
    """Named after the release and what is built of it: other sources or stand-ins are another folder."""
    digest = hashlib.sha256(repr(headers.version).encode())
    stood_in = sorted(STAND_INS.iterdir())
    for path in [*(sources.src / file for file in sources.host_files), *stood_in, Path(__file__)]:
        if path.is_file():
            digest.update(path.name.encode() + path.read_bytes())
    return under / f"nccl-{sources.name}-{digest.hexdigest()[:12]}"


def build(sources: NcclSources, headers: CudaHeaders, under: Path, progress: Progress) -> StockBuild:
    """Builds into a folder of its own under `under`, or finds it built. What an interrupted build compiled is kept.
    Raises HocketError with the compiler's words where NCCL's sources do not compile."""
    folder = build_folder(sources, headers, under)
    absent = folder / "absent.txt"
    if not absent.exists():
        _Builder(sources, headers, folder, progress).all()
    return StockBuild(sources, folder, tuple(absent.read_text(encoding="utf-8").split()))


class _Builder:
    def __init__(self, sources: NcclSources, headers: CudaHeaders, folder: Path, progress: Progress) -> None:
        if shutil.which("g++") is None:
            raise HocketError("g++ is needed to build NCCL: apt-get install g++")
        self._sources, self._folder, self._progress = sources, folder, progress
        self._objects = folder / "objects"
        major, minor = headers.version
        self._flags = [*_FLAGS, f"-DCUDA_MAJOR={major}", f"-DCUDA_MINOR={minor}", *_NO_GDAKI]
        self._cuda = [f"-isystem{path}" for path in headers.folders]
        own = ["include", "include/plugin", "transport/net_ib/gdaki/doca-gpunetio/include"]
        self._includes = [f"-I{folder / 'include'}", f"-I{sources.src}", *(f"-I{sources.src / path}" for path in own)]

    def all(self) -> None:
        for part in (self._objects, self._folder / "include"):
            part.mkdir(parents=True, exist_ok=True)
        self._write_headers()
        tables = self._write_tables()
        files = [self._sources.src / file for file in self._sources.host_files]
        compiled = self._compile([*files, *tables, STAND_INS / "kernels.cpp"])
        self._link_cuda()
        absent = self._link_nccl(compiled)
        self._link_player()
        _replace(self._folder / "absent.txt", "\n".join(absent))

    def _write_headers(self) -> None:
        """What NCCL's Makefile makes of its templates."""
        src, include = self._sources.src, self._folder / "include"
        major, minor, patch = self._sources.version
        values = {"Major": major, "Minor": minor, "Patch": patch, "Suffix": self._sources.suffix}
        text = (src / "nccl.h.in").read_text(encoding="utf-8")
        for name, value in (values | {"Version": self._sources.code}).items():
            text = text.replace(f"${{nccl:{name}}}", str(value))
        _replace(include / "nccl.h", text)
        _replace(
            include / "nccl_git_version.h",
            '#define NCCL_GIT_BRANCH "unknown"\n#define NCCL_GIT_COMMIT_HASH "unknown"\n',
        )
        if (src / "include" / "nccl_device").is_dir():
            shutil.copytree(src / "include" / "nccl_device", include / "nccl_device", dirs_exist_ok=True)
            shutil.copy(src / "include" / "nccl_device.h", include)

    def _write_tables(self) -> list[Path]:
        """The tables of kernels that NCCL's generators write for the host, and its kernels as functions that do nothing:
        a launch is what the stand-in for CUDA makes of it."""
        lines = ['#include "device.h"']
        tables = []
        for name, script, table in (
            ("device", "device/generate.py", "host_table.cc"),
            ("symmetric", "device/symmetric/generate.py", "sym*.cc"),
        ):
            out = self._folder / name
            out.mkdir(exist_ok=True)
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
        _replace(self._folder / "kernel_names.cc", "\n".join(lines) + "\n")
        return [*tables, self._folder / "kernel_names.cc"]

    def _compile(self, files: Sequence[Path]) -> list[Path]:
        """One object a file; those there are kept."""
        objects = [self._objects / (_object_name(file, self._sources.src) + ".o") for file in files]
        todo = [(file, made) for file, made in zip(files, objects, strict=True) if not made.exists()]
        done = len(files) - len(todo)

        def compile_one(pair: tuple[Path, Path]) -> str:
            file, made = pair
            part = made.with_suffix(".part")
            # NCCL's own code as it is quickest built: it decides, which takes no time; ours moves the data.
            quick = "-O2" if file.parent == STAND_INS else "-O0"
            self._compiler([quick, *_NCCL, *self._includes, "-c", str(file), "-o", str(part)])
            part.rename(made)
            return file.name

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name in pool.map(compile_one, todo):
                done += 1
                self._progress(done, len(files), name)
        return objects

    def _link_cuda(self) -> None:
        shared = ["-shared", "-O1", "-Wl,--no-undefined"]
        cuda = [STAND_INS / f"{name}.cpp" for name in ("device", "streams", "cuda_runtime", "cuda_driver")]
        self._compiler([*shared, *map(str, cuda), "-o", str(self._folder / "libhocket-cuda.so")])
        nvml = [str(STAND_INS / "nvml.cpp"), str(STAND_INS / "device.cpp")]
        self._compiler([*shared, "-fvisibility=hidden", *nvml, "-o", str(self._folder / "libnvidia-ml.so.1")])

    def _link_nccl(self, objects: Sequence[Path]) -> list[str]:
        """Links the library; what it refers to and nobody defines becomes a function that fails and says its name."""
        out = self._folder / "libnccl.so.2"
        link = ["-shared", "-Wl,-soname,libnccl.so.2", "-Wl,--no-undefined", "-Wl,--no-demangle", *map(str, objects)]
        link += [f"-L{self._folder}", "-lhocket-cuda", "-ldl", "-lrt", "-Wl,-rpath,$ORIGIN", "-o", str(out)]
        first = run(["g++", *self._flags, *link], capture_output=True, text=True)
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
            _replace(self._folder / "absent.cc", "\n".join(lines) + "\n")
            self._compiler([str(self._folder / "absent.cc"), *link])
        link_name = self._folder / "libnccl.so"
        link_name.unlink(missing_ok=True)
        link_name.symlink_to("libnccl.so.2")
        return absent

    def _link_player(self) -> None:
        player = [str(STAND_INS / "player.cpp"), f"-L{self._folder}", "-lnccl", "-lhocket-cuda", "-Wl,-rpath,$ORIGIN"]
        self._compiler([f"-I{self._folder / 'include'}", *player, "-O1", "-o", str(self._folder / "player")])
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


def _replace(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
