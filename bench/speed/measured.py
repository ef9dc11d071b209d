"""A measured rate beside what limits it and what was recorded before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hocket.bench.speed.case import SpeedCase, Timed
from hocket.bench.speed.instructions import Counted
from hocket.bench.speed.limits import CoreLimits
from hocket.bench.speed.recorded import RecordedRate

__all__ = ["MeasuredRate", "rates_text", "slower"]

#: A rate that has lost more than this part, and as much of what the core can do in the same run, has become slower:
#: on a shared machine the best of several runs comes and goes by a tenth.
_SLOWER = 0.2
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


@dataclass(frozen=True)
class MeasuredRate:
    """`counted`: the instructions that the same work takes, where they are known for this compiler; `last`: what was
    recorded on this model of CPU."""

    case: SpeedCase
    timed: Timed
    counted: Counted | None
    limits: CoreLimits | None
    last: RecordedRate | None

    @property
    def of_instructions(self) -> float | None:
        """Instructions a second as a part of what the core can do."""
        if self.counted is None or self.limits is None:
            return None
        return self.timed.rate * self.counted.of_a_unit / self.limits.instructions

    @property
    def of_memory(self) -> float | None:
        """Bytes a second, each counted once, as a part of what a sum or a copy moves, whichever is more."""
        if not self.timed.num_bytes or self.limits is None:
            return None
        return self.timed.num_bytes / self.timed.seconds / self.limits.memory_bytes

    @property
    def change(self) -> float | None:
        """Since the recorded one: 0.1 is a tenth quicker."""
        return None if self.last is None else self.timed.rate / self.last.rate - 1

    def warning(self) -> str:
        assert self.last is not None and self.change is not None
        return (
            f"{self.case.name} is slower than recorded: {_number(self.timed.rate)} instead of {_number(self.last.rate)}"
            f" {self.case.unit}/s at {self.last.commit} ({self.change:+.0%})"
        )

    def row(self) -> dict[str, Any]:
        """Of the results' file; what is not known is absent there and not a number in columns."""
        return {
            "case": self.case.name,
            "unit": self.case.unit,
            "what": self.case.what,
            "rate": self.timed.rate,
            "instructions": None if self.counted is None else self.counted.of_a_unit,
            "of_instructions": self.of_instructions,
            "of_memory": self.of_memory,
            "last": None if self.last is None else self.last.rate,
            "last_commit": None if self.last is None else self.last.commit,
            "change": self.change,
        }


def slower(rate: MeasuredRate) -> bool:
    """Whether the rate fell, and not only because the core is slower than it was then."""
    if rate.last is None or rate.change is None or rate.change > -_SLOWER:
        return False
    before = rate.last.part_of_limit()
    return before is None or rate.limits is None or rate.timed.rate / rate.limits.instructions < before * (1 - _SLOWER)


def rates_text(rates: Sequence[MeasuredRate]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the table for people."""
    heads = ("rate", "what", "a second", "instructions each", "of the core's", "of memory", "recorded", "change")
    return heads, [_cells(rate) for rate in rates]


def _cells(rate: MeasuredRate) -> tuple[str, ...]:
    each = "" if rate.counted is None else f"{rate.counted.of_a_unit:,.0f}"
    last = "" if rate.last is None else f"{_number(rate.last.rate)} ({rate.last.commit})"
    change = "" if rate.change is None else f"{rate.change:+.0%}"
    what = f"{rate.case.unit}: {rate.case.what}"
    rated = _number(rate.timed.rate)
    return (rate.case.name, what, rated, each, _part(rate.of_instructions), _part(rate.of_memory), last, change)


def _part(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _number(value: float) -> str:
    size, prefix = next((each for each in _PREFIXES if value >= each[0]), _PREFIXES[-1])
    return f"{value / size:.3g} {prefix}".rstrip()
