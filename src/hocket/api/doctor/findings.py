"""What a check finds: a part of the installation that works, is absent, or is there and does not work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, requires

__all__ = ["PartFinding", "PartState", "packages_of"]


class PartState(str, Enum):
    """How a part of the installation is."""

    WORKS = "works"
    ABSENT = "absent"
    BROKEN = "broken"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class PartFinding:
    """A part, how it is, what was found or what is wrong, and, unless it works, what to do."""

    part: str
    state: PartState
    found: str
    remedy: str = ""


def packages_of(extra: str) -> str:
    """The command that installs what an extra of this package needs, by the names of these packages alone."""
    try:
        lines = requires("hocket") or []
    except PackageNotFoundError:
        lines = []
    wanted = [line.partition(";") for line in lines]
    packages = [package.strip() for package, _, marker in wanted if marker.split()[-1:] == [f'"{extra}"']]
    return "pip install " + " ".join(f"'{package}'" for package in packages or [f"hocket[{extra}]"])
