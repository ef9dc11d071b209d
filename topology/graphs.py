"""Specs' words for topologies that are no products. A new one is one function and one line at the end of this file.

Every builder takes the spec as `name`, the numbers after the colon as `sizes`, its bandwidths (bytes/s) and latencies
(picoseconds), and whole numbers by name. Raises FormatError where sizes, numbers or values do not fit.
"""

from collections.abc import Callable, Sequence

from hocket.base.errors import FormatError
from hocket.base.splitmix import SplitMix
from hocket.topology.model import Topology

__all__ = ["GRAPHS"]

Values = Sequence[int]

_MAX_LINKS = 2**22  # a gigabyte while they are made


def dragonfly(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values) -> Topology:
    """`dragonfly:4x5`: 5 groups of 4 ranks, each fully connected; one link each way between every two groups.

    Group i's port j leads to group (i + 1 + j) mod groups, and belongs to the group's rank j mod ranks (the palm tree
    arrangement; Camarero et al. 2014). Values: inside a group, between groups. Classes of links: `local`, `global`. A
    group counts as a machine.
    """
    members, groups = _sizes(name, sizes, "RANKSxGROUPS, such as dragonfly:4x5")
    _require_links(members * groups * (members - 1) + groups * (groups - 1))
    (inside, between), (inside_ps, between_ps) = _two("bandwidth", bandwidth), _two("latency", latency)
    local = [
        (group * members + a, group * members + b, inside_ps, inside)
        for group in range(groups)
        for a in range(members)
        for b in range(members)
        if a != b
    ]
    far = []
    for group in range(groups):
        for port in range(groups - 1):
            other, back = (group + 1 + port) % groups, groups - 2 - port
            ends = group * members + port % members, other * members + back % members
            far.append((*ends, between_ps, between))
    return Topology.from_links(
        name,
        members * groups,
        local + far,
        machine=[rank // members for rank in range(members * groups)],
        link_class=["local"] * len(local) + ["global"] * len(far),
    )


def fat_tree(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values, spines: int = 1) -> Topology:
    """`fat_tree:8x4,spines=2`: 4 leaf switches with 8 ranks each; every leaf has a link up to, and one down from, every
    spine switch.

    Values: rank - leaf, leaf - spine. A leaf is oversubscribed ranks * bandwidth[0] : spines * bandwidth[1]. Nodes
    after the ranks: leaves, spines. Classes of links: `leaf`, `spine`.
    """
    members, leaves = _sizes(name, sizes, "RANKSxLEAVES, such as fat_tree:8x4")
    if spines < 1:
        raise FormatError(f"spines={spines}: a fat tree needs at least one spine switch")
    ranks = members * leaves
    _require_links(2 * (ranks + leaves * spines))
    (low, high), (low_ps, high_ps) = _two("bandwidth", bandwidth), _two("latency", latency)
    links = []
    for rank in range(ranks):
        leaf = ranks + rank // members
        links += [(rank, leaf, low_ps, low), (leaf, rank, low_ps, low)]
    for leaf in range(ranks, ranks + leaves):
        for spine in range(ranks + leaves, ranks + leaves + spines):
            links += [(leaf, spine, high_ps, high), (spine, leaf, high_ps, high)]
    link_class = ["leaf"] * (2 * ranks) + ["spine"] * (2 * leaves * spines)
    return Topology.from_links(name, ranks, links, num_switches=leaves + spines, link_class=link_class)


def random(
    name: str, sizes: Sequence[int], bandwidth: Values, latency: Values, degree: int = 4, seed: int = 0
) -> Topology:
    """`random:64,degree=4,seed=1`: a circle through all ranks in random order, and random pairs until there are
    ranks * degree / 2; every pair is linked both ways, so all ranks are connected.

    Each direction of a pair draws its own value of those given: several bandwidths make an asymmetric network. Drawn
    from SplitMix64(seed), the same on every machine: first the order (Fisher-Yates from the last place down), then the
    pairs (two ranks, redrawn when equal or linked), then over the ascending pairs bandwidth and latency there, and
    back.
    """
    if len(sizes) != 1 or sizes[0] < 3:
        raise FormatError(f"'{name}': expected random:RANKS with 3 ranks or more, such as random:64")
    ranks = sizes[0]
    if not 2 <= degree < ranks:
        raise FormatError(f"degree={degree}: {ranks} ranks have from 2 to {ranks - 1} neighbours in the mean")
    _require_links(ranks * degree)
    draw = SplitMix(seed)
    order = list(range(ranks))
    for last in range(ranks - 1, 0, -1):
        other = draw.below(last + 1)
        order[last], order[other] = order[other], order[last]
    pairs = {(min(a, b), max(a, b)) for a, b in zip(order, order[1:] + order[:1], strict=True)}
    while len(pairs) < ranks * degree // 2:
        a, b = draw.below(ranks), draw.below(ranks)
        if a != b:
            pairs.add((min(a, b), max(a, b)))
    links = []
    for a, b in sorted(pairs):
        for src, dst in ((a, b), (b, a)):
            speed = bandwidth[draw.below(len(bandwidth))]
            links.append((src, dst, latency[draw.below(len(latency))], speed))
    return Topology.from_links(name, ranks, links)


def _sizes(name: str, sizes: Sequence[int], expected: str) -> tuple[int, int]:
    if len(sizes) != 2 or min(sizes) < 1 or sizes[0] * sizes[1] < 2:
        raise FormatError(f"'{name}': expected {expected}, with 2 ranks or more")
    return sizes[0], sizes[1]


def _require_links(links: int) -> None:
    if links > _MAX_LINKS:
        raise FormatError(f"{links} links are more than the {_MAX_LINKS} that a spec may make")


def _two(key: str, values: Values) -> tuple[int, int]:
    if len(values) > 2:
        raise FormatError(f"{key} has {len(values)} values: give one, or two: nearer/farther links")
    return values[0], values[-1]


# word in a spec: its builder
GRAPHS: dict[str, Callable[..., Topology]] = {"dragonfly": dragonfly, "fat_tree": fat_tree, "random": random}
