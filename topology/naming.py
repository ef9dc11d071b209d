"""How people read nodes and links, everywhere the same."""

import re
from collections.abc import Iterable

from hocket.base.errors import FormatError

__all__ = ["link_name", "node_name", "parse_spans", "spans"]


_MOST_NUMBERS = 10_000_000


def node_name(node: int, num_ranks: int) -> str:
    """`rank 3`, or `switch 12`: its node id."""
    return f"rank {node}" if node < num_ranks else f"switch {node}"


def link_name(src: int, dst: int, num_ranks: int, class_name: str) -> str:
    """`rank 3 -> switch 12 (nvlink)`; `(dimension 0)` for a product's; nothing for the class `link` of all links."""
    suffix = f" (dimension {class_name})" if class_name.isdecimal() else f" ({class_name})"
    return f"{node_name(src, num_ranks)} -> {node_name(dst, num_ranks)}" + suffix * (class_name != "link")


def spans(numbers: Iterable[int]) -> str:
    """Ascending numbers for people: `0-6,8-15`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = int(number)
        else:
            runs.append([int(number), int(number)])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_spans(text: str) -> list[int]:
    """The numbers that `0-6,8-15` names, in its order. Raises FormatError."""
    numbers: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)):
            raise FormatError(f"'{text}': expected numbers such as 0,2,4-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < first + _MOST_NUMBERS:
            raise FormatError(f"'{text}': expected numbers such as 0,2,4-7, up to {_MOST_NUMBERS} of them")
        numbers.extend(range(first, last + 1))
    return numbers
