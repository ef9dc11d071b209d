"""Windows of training steps: which are recorded, and to which part of the recording each belongs."""

import re
from dataclasses import dataclass

__all__ = ["Windows"]

_PERIODIC = re.compile(r"(\d{1,18}):(\d{1,18})")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


@dataclass(frozen=True)
class Windows:
    """Of every `period` steps the first `length`, or else the steps of `ranges`, first and last, ascending.

    All ranks count the same steps, so that all record the same.
    """

    period: int = 0
    length: int = 0
    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Windows":
        """`100:5` or `10-19,500-509`. Raises ValueError saying what was expected."""
        if periodic := _PERIODIC.fullmatch(text):
            period, length = int(periodic[1]), int(periodic[2])
            if not 1 <= length <= period:
                raise ValueError(f"'{text}': of every {period} steps not {length} can be recorded, but 1 to {period}")
            return cls(period, length)
        ranges: list[tuple[int, int]] = []
        for part in text.split(","):
            found = _RANGE.fullmatch(part)
            if found is None:
                raise ValueError(
                    f"'{text}' is neither PERIOD:STEPS, as 100:5, nor a list of ranges of steps, as 10-19,500-509"
                )
            first, last = int(found[1]), int(found[2] or found[1])
            if first > last or (ranges and first <= ranges[-1][1]):
                raise ValueError(f"'{text}': ranges of steps must ascend and not overlap, unlike '{part}'")
            ranges.append((first, last))
        return cls(ranges=tuple(ranges))

    def __str__(self) -> str:
        if self.period:
            return f"{self.period}:{self.length}"
        return ",".join(f"{first}-{last}" for first, last in self.ranges)

    def part(self, step: int) -> str:
        """The window, "1" being the first, that a step lies in; "" for none."""
        if self.period:
            return str(step // self.period + 1) if step % self.period < self.length else ""
        inside = (n for n, (first, last) in enumerate(self.ranges, start=1) if first <= step <= last)
        return str(next(inside, ""))
