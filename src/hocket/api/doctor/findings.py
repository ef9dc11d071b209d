"""What a check finds: a part of the installation that works, is absent, or is there and does not work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["PartFinding", "PartState"]


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
