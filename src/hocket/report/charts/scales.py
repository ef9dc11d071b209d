"""Axes: from values to pixels, and where their ticks are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hocket.report.charts.drawing import number, text

__all__ = ["Axis", "Scale", "time_axis"]

_TIME_UNITS = ((1e12, "seconds"), (1e9, "milliseconds"), (1e6, "microseconds"), (1e3, "nanoseconds"), (1.0, "ps"))


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, whether it is logarithmic, the ticks it must have (value, words), whether 0 is on it.
    `unit` is how much one of what the title says is: values are divided by it where they are written."""

    title: str
    log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    from_zero: bool = False
    unit: float = 1.0


def time_axis(longest_ps: float, log: bool = False) -> Axis:
    """The axis of times up to `longest_ps`, in the unit that people would take."""
    unit, title = next((each for each in _TIME_UNITS if longest_ps >= 2 * each[0]), _TIME_UNITS[-1])
    return Axis(title, log=log, from_zero=not log, unit=unit)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on pixels from `first` to `last`."""

    axis: Axis
    low: float
    high: float
    first: float
    last: float

    @classmethod
    def over(cls, axis: Axis, values: Sequence[float], first: float, last: float) -> "Scale":
        """A scale with these values on it, and some room around them."""
        known = [value for value in values if math.isfinite(value) and (value > 0 or not axis.log)]
        low, high = (min(known), max(known)) if known else (1.0, 10.0)
        if axis.log:
            return cls(axis, low / 1.25, high * 1.25, first, last)
        if axis.from_zero:
            low = min(low, 0.0)
        room = (high - low or abs(high) or 1.0) * 0.04
        return cls(axis, low - room * (low != 0), high + room, first, last)

    def at(self, value: float) -> float:
        """The pixel of a value; those off the scale are at its end."""
        if self.axis.log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values on the scale, with what is written there."""
        if self.axis.ticks:
            shown = [tick for tick in self.axis.ticks if self.low <= tick[0] <= self.high]
            return shown[:: -(-len(shown) // 12) or 1]
        low, high, unit = self.low / self.axis.unit, self.high / self.axis.unit, self.axis.unit
        values = _decades(low, high) if self.axis.log else _steps(low, high)
        return [(value * unit, f"{value:.6g}") for value in values]

    def across(self, top: float, bottom: float) -> list[str]:
        """Grid lines and ticks of an axis that lies below the chart, with its title."""
        parts = []
        for value, words in self.ticks():
            x = self.at(value)
            parts.append(f'<path class="grid" d="M{number(x)} {number(top)}V{number(bottom)}"/>')
            parts.append(text(x, bottom + 17, words, "soft", "middle"))
        return [*parts, text((self.first + self.last) / 2, bottom + 36, self.axis.title, "soft", "middle")]

    def upright(self, left: float, right: float) -> list[str]:
        """Grid lines and ticks of an axis that stands left of the chart, with its title above."""
        parts = []
        for value, words in self.ticks():
            y = self.at(value)
            parts.append(f'<path class="grid" d="M{number(left)} {number(y)}H{number(right)}"/>')
            parts.append(text(left - 8, y + 4, words, "soft", "end"))
        return [*parts, text(8, 14, self.axis.title, "soft")]


def _steps(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, about seven of them."""
    rough = (high - low) / 7
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return [0.0 + at * step for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, with what is between them where few are in range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        found = [value for power in powers for factor in factors if low <= (value := factor * 10.0**power) <= high]
        if len(found) >= 3:
            return found[:: -(-len(found) // 9)]
    return found or _steps(low, high)
