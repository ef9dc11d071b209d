"""Small texts of the command line and of tables: lists of ranks, and times in a trace's nanoseconds."""

import re

from hocket.base.errors import FormatError
from hocket.base.units import parse_time

__all__ = ["parse_nanoseconds", "parse_ranks", "parse_splits"]

_PICOSECONDS = 1000
_MAX_RANKS = 1 << 20
_SPLITS = re.compile(r"[0-9]{1,15}(,[0-9]{1,15})*")
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def parse_nanoseconds(text: str) -> int:
    """A time such as `1ms` in nanoseconds. Raises FormatError for another form and for fractions of a nanosecond."""
    time_ps = parse_time(text)
    if time_ps % _PICOSECONDS:
        raise FormatError(f"'{text}' is not a whole number of nanoseconds, which is what traces count in")
    return time_ps // _PICOSECONDS


def parse_ranks(text: str) -> tuple[int, ...]:
    """Ranks such as `0-3` or `0,2,8-11`, in the order given. Raises FormatError for another form."""
    ranks: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last >= _MAX_RANKS:
            raise FormatError(f"'{text}' is not a list of ranks such as 0-7 or 0,2,4 (below {_MAX_RANKS})")
        ranks += range(first, last + 1)
    return tuple(ranks)


def parse_splits(text: str) -> tuple[int, ...]:
    """Parts of something, such as `3,1,1,1`. Raises FormatError for another form."""
    if not _SPLITS.fullmatch(text):
        raise FormatError(f"'{text}' is not a list of parts such as 3,1,1,1")
    return tuple(map(int, text.split(",")))
