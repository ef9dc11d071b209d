"""What a builder of graphs is, and what builders share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.base.registry import Entry
from hocket.topology.model import Topology

__all__ = ["GraphBuilder", "Values", "near_and_far", "require_links", "two_sizes"]

Values = Sequence[int]

_MAX_LINKS = 2**22  # a gigabyte while they are made


@dataclass(frozen=True)
class GraphBuilder(Entry):
    """`build` takes the spec as `name`, the numbers after the colon as `sizes`, its bandwidths (bytes/s) and latencies
    (picoseconds), and whole numbers by name. Raises FormatError where sizes, numbers or values do not fit."""

    build: Callable[..., Topology]


def two_sizes(sizes: Sequence[int], expected: str) -> tuple[int, int]:
    """The numbers after the colon, where they are two. Raises FormatError."""
    if len(sizes) != 2 or min(sizes) < 1 or sizes[0] * sizes[1] < 2:
        raise FormatError(f"expected {expected}, with 2 ranks or more")
    return sizes[0], sizes[1]


def require_links(links: int) -> None:
    """Raises FormatError where they are too many for a spec."""
    if links > _MAX_LINKS:
        raise FormatError(f"{links} links are more than the {_MAX_LINKS} that a spec may make")


def near_and_far(key: str, values: Values) -> tuple[int, int]:
    """One value for all links, or those of nearer and farther ones. Raises FormatError for more."""
    if len(values) > 2:
        raise FormatError(f"{key} has {len(values)} values: give one, or two: nearer/farther links")
    return values[0], values[-1]
