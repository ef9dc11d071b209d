"""Whether ns-3 is installed here, and how to get it."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HOW_TO_GET", "Ns3", "found"]

HOW_TO_GET = "apt-get install libns3-dev (Debian, Ubuntu), pip install ns3, or set HOCKET_NS3 to the prefix of another"

_MODULES = ("point-to-point", "network", "core")
_LIBRARY = re.compile(r"libns3(\.\d+)?-core(-[a-z]+)?\.so(\.\d+)?")
_FIRST_OF_CXX20 = 42  # older headers are none for C++20, later ones for nothing less


@dataclass(frozen=True)
class Ns3:
    """An ns-3 with headers: its `version` ("3.37"), where it is from (`origin`), its folders of headers and of
    libraries, and what these have before and behind their names (`.44` and `-optimized` of libns3.44-core-optimized).
    """

    version: str
    origin: str
    include: Path
    libraries: Path
    before: str
    behind: str

    @property
    def compiler_flags(self) -> list[str]:
        """What a compiler needs before a source file."""
        standard = "c++20" if int(self.version.split(".")[1]) >= _FIRST_OF_CXX20 else "c++17"
        return [f"-std={standard}", "-O2", "-w", f"-I{self.include}"]

    @property
    def linker_flags(self) -> list[str]:
        """What it needs behind it."""
        names = [f"-lns3{self.before}-{module}{self.behind}" for module in _MODULES]
        return [f"-L{self.libraries}", f"-Wl,-rpath,{self.libraries}", *names]


def found() -> Ns3 | None:
    """The ns-3 that is here: of the prefix HOCKET_NS3 where that is set, else PyPI's wheel, else the system's; None
    where there is none, or headers are missing."""
    for origin, include, libraries in _places():
        if not (include / "ns3" / "point-to-point-module.h").is_file() or not libraries.is_dir():
            continue
        for path in sorted(libraries.glob("libns3*-core*.so*")):
            named = _LIBRARY.fullmatch(path.name)
            if named is None:
                continue
            before, behind, version = named[1] or "", named[2] or "", named[3] or ""
            if number := (before or version).lstrip("."):
                return Ns3(f"3.{number}", origin, include, libraries, before, behind)
    return None


def _places() -> Iterator[tuple[str, Path, Path]]:
    """Where ns-3 may be: whose it is, its headers, its libraries."""
    if prefix := os.environ.get("HOCKET_NS3"):
        for libraries in ("lib", "lib64"):
            yield "HOCKET_NS3", Path(prefix) / "include", Path(prefix) / libraries
        return
    for entry in dict.fromkeys(sys.path):
        if entry and (wheel := Path(entry) / "ns3").is_dir():
            yield "PyPI's wheel", wheel / "include", wheel / "lib64"
    for prefix in ("/usr", "/usr/local"):
        root = Path(prefix)
        for folder in (*sorted(root.glob("lib/*-linux-gnu")), root / "lib64", root / "lib"):
            yield "the system's", root / "include", folder
