"""How soon what goes over one link can have come from, and can get to, so many ranks."""

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Topology
from hocket.topology.partition import Partition

__all__ = ["FAR_PS", "PICOSECONDS", "after", "latency_clusters", "rounded_down", "soonest", "soonest_to_pay"]

PICOSECONDS = 10**12
FAR_PS = 2**61
_MOST_DISTANCES = 4
_Times = NDArray[np.int64]


def soonest(far: _Times) -> _Times:
    """`far[s, k]` is the time between start s and rank k: the time after which the best start has got to 1, 2, ... of
    the ranks."""
    nearest: _Times = np.sort(far, axis=1).min(axis=0)
    return nearest


def after(first: _Times, second: _Times) -> _Times:
    """Of each pair of a rank before and a rank after the time that both take, ascending."""
    return np.sort(np.add.outer(first, second), axis=None)


def soonest_to_pay(amount: float, bandwidth: float, reached: _Times) -> int:
    """The least T at which bandwidth (bytes/s) times the sum of the times T - r, where positive, over the m values r of
    `reached` (ascending) is m times the amount of bytes: each byte that passes at a time counts for a part of them only
    that is reached from then on.

    The sum is the largest of j T less the first j values, over all j, so T is the least of so many fractions. Rounded
    down by more than floating point can be wrong: the same on any machine, as IEEE 754 says what each operation yields.
    """
    count = np.arange(1, len(reached) + 1)
    moved_ps = amount * PICOSECONDS / max(bandwidth, 1.0)
    each = (moved_ps * len(reached) + reached.astype(np.float64).cumsum()) / count
    return rounded_down(float(each.min()))


def rounded_down(time_ps: float) -> int:
    """Whole picoseconds, by more than floating point can be wrong."""
    whole = int(min(time_ps, float(FAR_PS)))
    return max(0, whole - (whole >> 36) - 2)


def latency_clusters(topology: Topology, far: _Times) -> list[Partition]:
    """The ranks that are within a latency of each other, for every latency between two ranks where these are few."""
    ranks = topology.num_ranks
    between = far[:ranks, :ranks]
    kinds = np.unique(between[~np.eye(ranks, dtype=np.bool_)])[:-1]
    if len(kinds) >= _MOST_DISTANCES:
        return []
    known = [partition.part for partition in topology.partitions]
    clusters = []
    for kind in kinds.tolist():
        label = _first_within(between <= kind)
        part = np.unique(label, return_inverse=True)[1]
        if part.max() == 0 or any(np.array_equal(part, other) for other in known):
            continue
        known.append(part.astype(np.int32))
        one, every = "the ranks nearest to rank {}", "all ranks that are nearest to each other"
        clusters.append(Partition.by(one, every, label, topology.graph, topology.reversed_graph))
    return clusters


def _first_within(joined: NDArray[np.bool_]) -> _Times:
    """Of each rank the first that it is joined to, in either direction and over others."""
    joined = joined | joined.T
    first = np.arange(len(joined))
    while True:
        least = np.where(joined, first[None, :], len(joined)).min(axis=1)
        if np.array_equal(least, first):
            return first
        first = np.minimum(first, least)
