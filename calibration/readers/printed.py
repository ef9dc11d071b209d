"""Numbers as benchmarks print them, and the rule that ties them: algbw = size / time, busbw = algbw x factor."""

import re
from dataclasses import dataclass

from hocket.base.errors import FormatError

__all__ = ["Printed", "PrintedRow", "check_row", "whole"]

_NUMBER = re.compile(r"([0-9]{1,18})(?:\.([0-9]{0,12}))?(?:[eE]([+-]?[0-9]{1,2}))?")
_SLACK = 1e-3  # of the printed value, beside its last digit: tools round twice
# What a ratio of printed to expected bandwidth tells.
_SLIPS = (
    (8.0, "bandwidths look like Gbit/s: print GB/s"),
    (1 / 8, "times or sizes are 8 times too large: bits taken for bytes?"),
    (1e-3, "times look like ms or bandwidths like TB/s: print us and GB/s"),
    (1e3, "times look like ns or bandwidths like MB/s: print us and GB/s"),
    (1e6, "times look like seconds: print us"),
    (1e-6, "times look like seconds: print us"),
    (1e9 / 2**30, "bandwidths look like GiB/s: print GB/s (10^9)"),
    (1e3 / 1024, "bandwidths look like units of 1024: print GB/s (10^9)"),
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number: its value, and half a unit of its last digit, by which it may be off."""

    value: float
    half: float

    @classmethod
    def of(cls, text: str, place: str, name: str) -> "Printed":
        """Raises FormatError, naming the column, for anything but a non-negative number."""
        match = _NUMBER.fullmatch(text)
        if match is None:
            raise FormatError(f"{place}: {name}: '{text}' is no number of at most 18 digits: the file is damaged")
        exponent = int(match[3] or 0)
        return cls(float(text), 0.5 * 10.0 ** (exponent - len(match[2] or "")))


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One half of a line: time in us, bandwidths in GB/s (10^9)."""

    size_bytes: int
    time_us: Printed
    algbw: Printed
    busbw: Printed

    @property
    def time_ps(self) -> int:
        return round(self.time_us.value * 1e6)


def whole(text: str, place: str, name: str) -> int:
    """A count. Raises FormatError, naming the column."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise FormatError(f"{place}: {name}: '{text}' is no whole number: the line is cut off or damaged")
    return int(text)


def check_row(row: PrintedRow, factor: float, place: str) -> None:
    """Raises FormatError, saying which unit slipped, unless the three numbers agree to their last printed digit."""
    if not 0 < row.time_us.value < 1e12:
        raise FormatError(f"{place}: a time of {row.time_us.value:g} us cannot be: the line is damaged")
    expected = row.size_bytes / row.time_us.value / 1e3
    off = row.time_us.half / row.time_us.value
    _compare(row.algbw, expected, off, f"{place}: algbw", f"{row.size_bytes} B / {row.time_us.value:g} us")
    off = row.algbw.half / row.algbw.value if row.algbw.value else 0.0
    if row.algbw.value:
        _compare(row.busbw, row.algbw.value * factor, off, f"{place}: busbw", f"algbw x {factor:.4g}")
    elif row.busbw.value > factor * row.algbw.half + row.busbw.half + 1e-9:
        raise FormatError(f"{place}: busbw {row.busbw.value:g} GB/s beside an algbw of 0: the line is damaged")


def _compare(printed: Printed, expected: float, off: float, name: str, why: str) -> None:
    slack = expected * (min(off, 1.0) + _SLACK) + printed.half
    if abs(printed.value - expected) <= slack * (1 + 1e-9):
        return
    ratio = printed.value / expected if expected else float("inf")
    known = [text for slip, text in _SLIPS if abs(ratio / slip - 1) < 0.02]
    raise FormatError(
        f"{name} is {printed.value:g} GB/s, expected {expected:.4g} ({why}): "
        + (known[0] if known else "columns are mixed up, or the collective or its number of ranks is another")
    )
