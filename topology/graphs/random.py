"""`random:64,degree=4,seed=1`."""

from collections.abc import Sequence

from hocket.base.errors import FormatError
from hocket.base.splitmix import SplitMix
from hocket.topology.graphs.builder import GraphBuilder, Values, require_links
from hocket.topology.model import Topology

__all__ = ["GRAPHS", "random"]


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
    require_links(ranks * degree)
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


GRAPHS = (
    GraphBuilder(
        random,
        name="random",
        summary="a circle through all ranks in random order, and random pairs until there are 64 x 4 / 2; each pair"
        " is linked both ways, and each direction draws its bandwidth and latency from the values given:"
        " `bandwidth=25/100/400GiB/s` makes it asymmetric. Drawn from SplitMix64, the same on every machine",
        example="random:64,degree=4,seed=1",
    ),
)
