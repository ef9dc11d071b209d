"""`pgft:4x8x1x4x1x1` and `rlft:8`: fat trees of any number of levels."""

from collections.abc import Iterator, Sequence
from math import prod

from hocket.base.errors import FormatError
from hocket.topology.graphs.builder import GraphBuilder, Values, near_and_far, require_links
from hocket.topology.model import Topology

__all__ = ["GRAPHS", "parallel_ports_tree", "real_life_tree"]

_MOST_LEVELS = 8
_CLASSES = ("leaf", "spine", "core")


def parallel_ports_tree(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values) -> Topology:
    """`pgft:4x8x1x4x1x1`: PGFT(2; 4,8; 1,4; 1,1), a parallel ports generalized fat tree (Zahavi 2010) of 2 levels.

    The first third of the numbers is how many nodes each switch of a level has below it, the second how many switches
    each node of the level below has above it, the last how many links join the two. Values: rank - leaf, above. Nodes
    after the ranks: the switches, level by level. Classes of links: `leaf`, `spine`, `core`, `level4`, ... All spray.
    """
    levels, rest = divmod(len(sizes), 3)
    if rest or not levels or levels > _MOST_LEVELS or min(sizes) < 1:
        raise FormatError(
            f"'{name}': expected 3 numbers a level, of up to {_MOST_LEVELS} levels: nodes below, switches above,"
            " parallel links, such as pgft:4x8x1x4x1x1 for PGFT(2; 4,8; 1,4; 1,1)"
        )
    return _tree(name, sizes[:levels], sizes[levels : 2 * levels], sizes[2 * levels :], bandwidth, latency)


def real_life_tree(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values, levels: int = 2) -> Topology:
    """`rlft:8,levels=2`: the largest real-life fat tree of switches with 8 ports, without oversubscription: 2 x 4^2 =
    32 ranks, 8 + 4 switches. Values, nodes and classes as of `pgft`."""
    if len(sizes) != 1 or sizes[0] < 2 or sizes[0] % 2:
        raise FormatError(f"'{name}': expected the ports of a switch, an even number, such as rlft:8")
    if not 1 <= levels <= _MOST_LEVELS:
        raise FormatError(f"levels={levels}: a fat tree has 1 to {_MOST_LEVELS} levels of switches")
    half = sizes[0] // 2
    below, above = [half] * (levels - 1) + [2 * half], [1] + [half] * (levels - 1)
    return _tree(name, below, above, [1] * levels, bandwidth, latency)


def _tree(
    name: str, below: Sequence[int], above: Sequence[int], parallel: Sequence[int], bandwidth: Values, latency: Values
) -> Topology:
    counts = [prod(below[level:]) * prod(above[:level]) for level in range(len(below) + 1)]
    if counts[0] < 2:
        raise FormatError(f"'{name}': expected 2 ranks or more")
    require_links(2 * sum(counts[level] * above[level] * parallel[level] for level in range(len(below))))
    (low, high), (low_ps, high_ps) = near_and_far("bandwidth", bandwidth), near_and_far("latency", latency)
    links: list[tuple[int, int, int, int]] = []
    link_class: list[str] = []
    for level in range(len(below)):
        first, cost = sum(counts[:level]), (low_ps, low) if level == 0 else (high_ps, high)
        named = _CLASSES[level] if level < len(_CLASSES) else f"level{level + 1}"
        for lower, upper in _joined(below, above, level):
            ends = first + lower, first + counts[level] + upper
            both = [(ends[0], ends[1], *cost), (ends[1], ends[0], *cost)]
            links += both * parallel[level]
            link_class += [named] * (2 * parallel[level])
    switches = sum(counts[1:])
    return Topology.from_links(name, counts[0], links, num_switches=switches, link_class=link_class, routing="spray")


def _joined(below: Sequence[int], above: Sequence[int], level: int) -> Iterator[tuple[int, int]]:
    """Nodes of a level and switches of the next that are joined, both by their numbers there.

    A node is number a * prod(above) + b, of the subtree a that it is in and its place b among those that are above the
    same ranks. Its parents differ in the digit of their own level alone.
    """
    kinds = prod(above[:level])
    for subtree in range(prod(below[level:])):
        for kind in range(kinds):
            for digit in range(above[level]):
                parent = subtree // below[level] * kinds * above[level] + digit * kinds + kind
                yield subtree * kinds + kind, parent


GRAPHS = (
    GraphBuilder(
        parallel_ports_tree,
        name="pgft",
        summary="PGFT(2; 4,8; 1,4; 1,1), a fat tree of any levels: first how many nodes a switch of each level has"
        " below it, then how many switches there are above a node, then how many links join the two. Values: rank -"
        " leaf, above",
        source="Zahavi, 2010",
        example="pgft:4x8x1x4x1x1",
    ),
    GraphBuilder(
        real_life_tree,
        name="rlft",
        summary="the real-life fat tree of switches with 8 ports, in `levels=2` (unless said): 32 ranks, 8 + 4"
        " switches; `rlft:16` has 128 ranks and 24 switches, `rlft:32` 512 and 48",
        source="Zahavi, 2010",
        example="rlft:8",
    ),
)
