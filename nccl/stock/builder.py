"""What building NCCL's host code and RCCL's have in common: objects that are kept, a library, a player of jobs."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

from hocket.base.errors import HocketError
from hocket.base.files import make_folder
from hocket.base.processes import run
from hocket.base.scratch import hand_over, scratch_folder
from hocket.nccl.stock.cuda_headers import CudaHeaders
from hocket.nccl.stock.rocm_headers import RocmHeaders
from hocket.nccl.stock.sources import NcclSources

__all__ = ["STAND_INS", "Builder", "Headers", "Progress"]

STAND_INS = Path(__file__).parent / "stand_ins"
Headers = CudaHeaders | RocmHeaders
Progress = Callable[[int, int, str], None]

_UNDEFINED = re.compile(r"undefined reference to `([^']+)'")


class Builder(ABC):
    """Compiles a library's sources into `compiled`, once, and links them with the stand-ins in `folder`."""

    #: The library's name as jobs load it, and the stand-in for the runtime that it is linked to.
    library: ClassVar[str]
    runtime: ClassVar[str]
    #: For the library's own sources; what its link has beside.
    own_flags: ClassVar[Sequence[str]]
    link_flags: ClassVar[Sequence[str]] = ()

    def __init__(
        self, sources: NcclSources, headers: Headers, compiled: Path, folder: Path, progress: Progress
    ) -> None:
        self.sources, self.headers, self.compiled, self.folder = sources, headers, compiled, folder
        self._progress = progress
        self._objects = compiled / "objects"
        #: For all that is compiled.
        self.flags = ["-fPIC", "-std=c++17", "-w", "-pthread", *self.flags_of(headers.version)]

    @staticmethod
    @abstractmethod
    def flags_of(version: tuple[int, int]) -> list[str]:
        """What is defined for all that is compiled over the vendor's headers of that version."""

    @classmethod
    def made_with(cls) -> Iterator[bytes]:
        """What of ours the library's sources are changed by, or include."""
        return iter(())

    @abstractmethod
    def files(self) -> list[Path]:
        """What is compiled into the library, after all that it includes is written."""

    @abstractmethod
    def includes(self) -> list[str]:
        """Options of the compiler that say where the library's sources include from."""

    @abstractmethod
    def parts(self) -> list[Path]:
        """Objects of ours that are linked into the library."""

    @abstractmethod
    def link_runtime(self) -> None:
        """Links the stand-ins for what the vendor has of libraries."""

    def all(self) -> None:
        for part in (self._objects, self.compiled / "include", self.folder):
            make_folder(part)
        objects = self._compile(self.files())
        self.link_runtime()
        absent = self._link_library([*objects, *self.parts()])
        self._link_player()
        hand_over(self.folder / "absent.txt", "\n".join(absent))

    def own_object(self, source: str) -> Path:
        """A file of the stand-ins that includes what the library's sources do."""
        made = self.folder / (Path(source).stem + ".o")
        self.compiler(["-O2", *self.own_flags, *self.includes(), "-c", str(STAND_INS / source), "-o", str(made)])
        return made

    def shared(self, name: str, stand_ins: Sequence[str], *more: str) -> None:
        """Links stand-ins to the shared library of that file name."""
        files = [str(STAND_INS / f"{stem}.cpp") for stem in stand_ins]
        self.compiler(["-shared", "-O1", "-Wl,--no-undefined", *more, *files, "-o", str(self.folder / name)])

    def compiler(self, arguments: Sequence[str]) -> None:
        system = [f"-isystem{path}" for path in self.headers.folders]
        self.run(["g++", *self.flags, *arguments[:1], *self._first(), *system, *arguments[1:]])

    def run(self, command: Sequence[str], cwd: Path | None = None) -> None:
        done = run(command, cwd=cwd, capture_output=True, text=True)
        if done.returncode != 0:
            raise HocketError(
                f"building {self.sources.library} {self.sources.name}, {' '.join(command)[:200]} ... failed:"
                f"\n{done.stderr[-3000:]}"
            )

    def _first(self) -> list[str]:
        """Where headers of ours lie that come before the vendor's."""
        return []

    def _compile(self, files: Sequence[Path]) -> list[Path]:
        """One object a file; those there are kept."""
        objects = [self._objects / f"{self._object_name(file)}{'.search' * _searches(file)}.o" for file in files]
        todo = [(file, made) for file, made in zip(files, objects, strict=True) if not made.exists()]
        done = len(files) - len(todo)

        def compile_one(pair: tuple[Path, Path]) -> str:
            file, made = pair
            # Quickest built: it decides, which takes little time, but for the search; what moves the data is ours.
            # Its memsets stay calls, which are ours: see device.cpp.
            level = ["-O2", "-fno-builtin-memset"] if _searches(file) else ["-O0"]
            with scratch_folder("object", self._objects) as scratch:
                self.compiler(
                    [*level, *self.own_flags, *self.includes(), "-c", str(file), "-o", str(scratch / "part.o")]
                )
                hand_over(made, (scratch / "part.o").read_bytes())
            return file.name

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name in pool.map(compile_one, todo):
                done += 1
                self._progress(done, len(files), name)
        return objects

    def _object_name(self, file: Path) -> str:
        for root in (self.sources.src, self.compiled):
            if file.is_relative_to(root):
                return "_".join(file.relative_to(root).parts)
        return file.name

    def _link_library(self, objects: Sequence[Path]) -> list[str]:
        """Links the library; what it refers to and nobody defines becomes a function that fails and says its name."""
        library = self.sources.library
        link = ["-shared", f"-Wl,-soname,{self.library}", "-Wl,--no-undefined", "-Wl,--no-demangle", *self.link_flags]
        link += [*map(str, objects), f"-L{self.folder}", f"-l{self.runtime}", "-ldl", "-lrt", "-Wl,-rpath,$ORIGIN"]
        link += ["-o", str(self.folder / self.library)]
        plain = os.environ | {"LC_ALL": "C"}  # what it says is read
        first = run(["g++", *self.flags, *link], capture_output=True, text=True, env=plain)
        absent = sorted(set(_UNDEFINED.findall(first.stderr)))
        if first.returncode != 0 and not absent:
            raise HocketError(f"{library} {self.sources.name} does not link: {first.stderr.strip()[-2000:]}")
        if absent:
            lines = ["#include <cstdio>"]
            for number, name in enumerate(absent):
                lines.append(
                    f'extern "C" int absent_{number}() asm("{name}");\nint absent_{number}() {{ fprintf(stderr,'
                    f' "hocket: {library} called {name}, which the stand-ins lack\\n"); return 3; }}'
                )
            hand_over(self.folder / "absent.cc", "\n".join(lines) + "\n")
            self.compiler([str(self.folder / "absent.cc"), *link])
        return absent

    def _link_player(self) -> None:
        player = [str(STAND_INS / "player.cpp"), f"-L{self.folder}", f"-l:{self.library}", f"-l{self.runtime}"]
        player += ["-Wl,-rpath,$ORIGIN", "-O1", "-o", str(self.folder / "player")]
        self.compiler([f"-I{self.compiled / 'include'}", *player])
        self.shared("libnccl-net-hocket.so", ["net_plugin", "collnet"])


def _searches(file: Path) -> bool:
    """Whether it is of the search for channels, which every rank does: in a large NVLink domain for minutes."""
    return file.parent.name == "graph"
