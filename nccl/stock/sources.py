"""A checkout of NCCL's or RCCL's sources: its release, and the files that its own build compiles for the host."""

import re
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from hocket.base.errors import FormatError, HocketError
from hocket.base.processes import run

__all__ = ["NcclSources", "RcclSources", "read_sources"]

_NUMBER = re.compile(r"^NCCL_(MAJOR|MINOR|PATCH|SUFFIX) *:= *(\S*)", re.MULTILINE)


@dataclass(frozen=True)
class NcclSources:
    """`folder` is the checkout; `version` its release, (2, 30, 7); `suffix` what a preview adds to it, as `a7`."""

    library: ClassVar[str] = "NCCL"
    #: Before it the kernels' arguments and the profiler's interface are others.
    oldest: ClassVar[tuple[int, int]] = (2, 27)

    folder: Path
    version: tuple[int, int, int]
    suffix: str

    @property
    def name(self) -> str:
        """`2.30.7`"""
        return ".".join(map(str, self.version)) + self.suffix

    @property
    def code(self) -> int:
        """NCCL_VERSION_CODE"""
        major, minor, patch = self.version
        return major * 10000 + minor * 100 + patch

    @property
    def src(self) -> Path:
        return self.folder / "src"

    @cached_property
    def host_files(self) -> list[str]:
        """What NCCL's Makefile compiles for the host, relative to `src`, but for the part that drives Mellanox' NICs
        from kernels (GDAKI), which needs that vendor's library. Raises HocketError where make does not say."""
        asked = ["make", "-s", "--no-print-directory", "--eval=hocket-files: ; @echo $(LIBSRCFILES)", "hocket-files"]
        if shutil.which("make") is None:
            raise HocketError("make is needed to build NCCL: apt-get install make")
        done = run([*asked, "NCCL_OS_LINUX=1"], cwd=self.src, capture_output=True, text=True)
        files = sorted({file for file in done.stdout.split() if file.endswith(".cc") and "/gdaki/" not in file})
        present = [file for file in files if (self.src / file).exists()]
        if done.returncode != 0 or "init.cc" not in present:
            raise HocketError(f"{self.src}/Makefile does not say what it compiles: {done.stderr.strip()[-500:]}")
        return present


class RcclSources(NcclSources):
    """A checkout of AMD's RCCL, which is numbered as the NCCL that it follows."""

    library: ClassVar[str] = "RCCL"
    #: Before it RCCL does not tell what it chooses.
    oldest: ClassVar[tuple[int, int]] = (2, 28)

    @cached_property
    def host_files(self) -> list[str]:
        """What RCCL's CMakeLists.txt compiles for the host wherever it is built, and what asks AMD SMI; relative to
        `src`. Raises HocketError where it does not say."""
        path = self.folder / "CMakeLists.txt"
        text = path.read_text(encoding="utf-8", errors="replace")
        listed = re.search(r"^set\(SRC_FILES\s(.*?)^\)", text, re.MULTILINE | re.DOTALL)
        lines = listed[1].splitlines() if listed else []
        named = {line.strip().removeprefix("src/") for line in lines if line.strip().endswith(".cc")}
        named = {name for name in named if not name.startswith("#")} - {"ras/client.cc"} | {"misc/amdsmi_wrap.cc"}
        files = sorted(name for name in named if (self.src / name).exists())
        if "init.cc" not in files:
            raise HocketError(f"{path} does not say what it compiles (set(SRC_FILES ...))")
        return files


def read_sources(folder: Path) -> NcclSources:
    """The checkout at `folder`, of NCCL or RCCL. Raises FormatError where there is none, or one older than is run."""
    makefile = folder / "makefiles" / "version.mk"
    try:
        found = dict(_NUMBER.findall(makefile.read_text(encoding="utf-8")))
        version = (int(found["MAJOR"]), int(found["MINOR"]), int(found["PATCH"]))
    except (OSError, KeyError, ValueError) as error:
        raise FormatError(
            f"{folder} holds no sources of NCCL or RCCL (makefiles/version.mk): give a checkout of a release's tag"
        ) from error
    kind = RcclSources if (folder / "src" / "rccl_wrap.cc").exists() else NcclSources
    if version[:2] < kind.oldest:
        raise FormatError(
            f"{folder} is {kind.library} {'.'.join(map(str, version))}: {'.'.join(map(str, kind.oldest))} or newer is"
            " run"
        )
    return kind(folder.resolve(), version, found.get("SUFFIX", ""))
