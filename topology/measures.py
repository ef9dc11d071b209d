"""What a topology can do at best: the measures that lower bounds are made of. All exact integers."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket._core import topology as engine
from hocket._core.topology import Graph, part_ingress_bandwidth, rank_egress_bandwidth, rank_ingress_bandwidth

__all__ = [
    "Cut",
    "all_gather_cut",
    "eccentricity_ps",
    "part_ingress_bandwidth",
    "rank_egress_bandwidth",
    "rank_ingress_bandwidth",
]


class Cut(NamedTuple):
    """`ranks` ranks that can send out only `bandwidth` bytes/s in all."""

    ranks: int
    bandwidth: int


def eccentricity_ps(
    graph: Graph,
    bytes: int,
    sources: Iterable[int] | None = None,
    targets: Iterable[int] | None = None,
    *,
    store_and_forward: bool = True,
) -> NDArray[np.int64]:
    """For each source rank (default: all) the least time until the farthest target rank (default: all) can hold `bytes`
    that it alone held.

    A lower bound for everything that moves the bytes as one piece: between ranks a route takes at least the sum of its
    latencies plus its largest serialization. With `store_and_forward` a rank passes on only what it holds whole (true
    of every timed schedule); without, ranks cut through as switches do. Raises Infeasible when a rank is out of
    reach.
    """
    everyone = range(graph.num_ranks)
    src, dst = (np.fromiter(everyone if ranks is None else ranks, np.int32) for ranks in (sources, targets))
    return engine.eccentricity_ps(graph, bytes, src, dst, store_and_forward)


def all_gather_cut(graph: Graph, max_work: int = 100_000) -> Cut:
    """The set of nodes with the most ranks per leaving bandwidth: with b bytes per rank an all-gather takes at least
    b * ranks / bandwidth seconds.

    The optimum that fluid spanning-tree packings reach (ForestColl, arXiv 2402.06787), by Dinkelbach's method over
    exact integer maximum flows, one for each rank that the cut leaves out. Where ranks x links is more than `max_work`,
    only max_work / links of them, evenly spread, are tried: a bound as valid, but maybe lower.
    """
    return Cut(*engine.all_gather_cut(graph, max_work))
