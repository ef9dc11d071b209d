"""A checkout of NCCL's sources: its release, and the files that its own Makefile compiles for the host."""

import re
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hocket.base.errors import FormatError, HocketError
from hocket.base.processes import run

__all__ = ["OLDEST", "NcclSources", "read_sources"]

#: Before it the kernels' arguments and the profiler's interface are others.
OLDEST = (2, 27)
_NUMBER = re.compile(r"^NCCL_(MAJOR|MINOR|PATCH|SUFFIX) *:= *(\S*)", re.MULTILINE)


@dataclass(frozen=True)
class NcclSources:
    """`folder` is the checkout; `version` its release, (2, 30, 7); `suffix` what a preview adds to it, as `a7`."""

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


def read_sources(folder: Path) -> NcclSources:
    """The checkout at `folder`. Raises FormatError where there is none, or one older than `OLDEST`."""
    makefile = folder / "makefiles" / "version.mk"
    try:
        found = dict(_NUMBER.findall(makefile.read_text(encoding="utf-8")))
        version = (int(found["MAJOR"]), int(found["MINOR"]), int(found["PATCH"]))
    except (OSError, KeyError, ValueError) as error:
        raise FormatError(
            f"{folder} holds no sources of NCCL (makefiles/version.mk): give a checkout of a release's tag"
        ) from error
    if version[:2] < OLDEST:
        raise FormatError(
            f"{folder} is NCCL {'.'.join(map(str, version))}: {'.'.join(map(str, OLDEST))} or newer is run"
        )
    return NcclSources(folder.resolve(), version, found.get("SUFFIX", ""))
