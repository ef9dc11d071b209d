"""What a part of the self-test is given, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from hocket.base.enums import StrEnum

__all__ = ["PartOutcome", "PartPlace", "State"]


class State(StrEnum):
    """How a part ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class PartOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """`said`: what was found in a line; `reasons`, a line each, of what failed or why it was skipped; `facts` that
    others read; how long it took."""

    state: State
    said: str = ""
    reasons: tuple[str, ...] = ()
    facts: dict[str, Any] = {}
    seconds: float = 0.0

    @classmethod
    def skipped(cls, *reasons: str) -> PartOutcome:
        return cls(state=State.SKIPPED, reasons=reasons)

    @classmethod
    def of_faults(cls, said: str, faults: tuple[str, ...], **facts: Any) -> PartOutcome:
        """Passed where there are no faults."""
        return cls(state=State.FAILED if faults else State.PASSED, said=said, reasons=faults, facts=facts)


class PartPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a part works. `folder` is its own, beside those of the others; what it leaves in `files` is sent back.
    `facts`: what the parts before it found, by their names."""

    name: str
    folder: str
    ranks: int
    on_gpus: bool
    limit_s: float
    facts: dict[str, dict[str, Any]] = {}

    @property
    def path(self) -> Path:
        return Path(self.folder)

    @property
    def files(self) -> Path:
        return self.path / "files"

    def beside(self, part: str) -> Path:
        """The folder of another part of the same half."""
        return self.path.parent / f"{'gpu-' if self.on_gpus else ''}{part}"

    @property
    def versions(self) -> dict[str, Any]:
        return self.facts.get("versions", {})

    @property
    def library(self) -> str:
        """The stock library's name, as PyTorch has it."""
        return "nccl" if self.on_gpus else "gloo"
