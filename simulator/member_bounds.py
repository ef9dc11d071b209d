"""What no algorithm can beat for each member of a collective, whenever the members start."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Collective
from hocket.schedule.crossings import entering, leaving
from hocket.topology import Topology

__all__ = ["MemberBounds", "Ports", "member_bounds", "member_bytes", "ports"]

_NOBODY, _EVERYBODY = -2, -1
_PICOSECONDS_PER_SECOND = 10**12
Ports = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class MemberBounds:
    """Columns over the members: `bytes_in` and `bytes_out` (int64, `member_bytes`); `own_ps` int64 from a member's own
    start to its end; `hear_ps` int64 from the start of `source` (int32: a member, -1 everybody, -2 nobody) to its
    end."""

    bytes_in: NDArray[np.int64]
    bytes_out: NDArray[np.int64]
    own_ps: NDArray[np.int64]
    hear_ps: NDArray[np.int64]
    source: NDArray[np.int32]

    def folded(self, member: NDArray[np.int64]) -> "MemberBounds":
        """Of members that stand for others: which of them stands for each. What is least of all for whom one stands
        holds for it; and that others are heard of, where it is not known of whom."""
        first = np.unique(member, return_index=True)[1]

        def least(values: NDArray[np.int64]) -> NDArray[np.int64]:
            found = values[first]
            np.minimum.at(found, member, values)
            return found

        of = np.where(self.source >= 0, member[np.maximum(self.source, 0)], self.source)
        source = of[first]
        unlike = np.zeros(len(first), np.bool_)
        np.logical_or.at(unlike, member, of != source[member])
        return MemberBounds(
            least(self.bytes_in),
            least(self.bytes_out),
            least(self.own_ps),
            least(self.hear_ps),
            np.where(unlike, _NOBODY, source).astype(np.int32),
        )


def member_bytes(collective: Collective) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes that must come into and go out of each member, whatever the algorithm (int64, length ranks each).

    In comes every chunk that a member wants and does not hold; out goes every chunk that others want and only it
    holds, and its contribution to every sum that others want.
    """
    n = collective.num_ranks
    if n == 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    if collective.conditions is not None:
        each = np.arange(n)
        return entering(collective, each)[1], leaving(collective, each)[1]
    size, origin, destination = collective.chunk_bytes, collective.origin, collective.destination

    def per_rank(rank: NDArray[np.int32], of: NDArray[np.bool_]) -> NDArray[np.int64]:
        total = np.zeros(n, np.int64)
        np.add.at(total, rank[of], size[of])
        return total

    summed, for_all = origin < 0, destination < 0
    elsewhere = origin != destination
    bytes_in = int(size[for_all].sum()) - per_rank(origin, for_all & ~summed)
    bytes_in += per_rank(destination, ~for_all & elsewhere)
    bytes_out = int(size[summed].sum()) - per_rank(destination, summed & ~for_all)
    bytes_out += per_rank(origin, ~summed & elsewhere)
    return bytes_in, bytes_out


def member_bounds(collective: Collective, topology: Topology, group: NDArray[np.int32]) -> MemberBounds:
    """Each member must move its bytes (`member_bytes`) through its own links, behind the shortest latency there.

    What needs a source cannot end before the source's start plus the shortest latency into the member.
    """
    bytes_in, bytes_out = member_bytes(collective)
    into, out_of = ports(topology)
    latency_in, time_in = _through(into, group, bytes_in)
    _, time_out = _through(out_of, group, bytes_out)
    hear = latency_in if collective.num_ranks > 1 else np.zeros_like(latency_in)
    return MemberBounds(bytes_in, bytes_out, np.maximum(time_in, time_out), hear, _sources(collective))


@lru_cache(maxsize=16)
def ports(topology: Topology) -> tuple[Ports, Ports]:
    """Of the links into, and out of, each node: the shortest latency, and the bandwidth of all together (int64)."""
    found = []
    for end in (topology.dst, topology.src):
        latency = np.full(topology.num_nodes, np.iinfo(np.int64).max)
        np.minimum.at(latency, end, topology.latency_ps)
        bandwidth = np.zeros(topology.num_nodes, np.int64)
        np.add.at(bandwidth, end, topology.bandwidth)
        found.append((latency, bandwidth))
    return found[0], found[1]


def _through(
    links: Ports, group: NDArray[np.int32], amount: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of these links of each member: the shortest latency, and it plus the time of `amount` over all."""
    latency, bandwidth = links
    # Python integers: bytes times 10^12 leaves 64 bits.
    scaled = amount.astype(object) * _PICOSECONDS_PER_SECOND
    serialization = -(-scaled // np.maximum(bandwidth[group], 1)).astype(np.int64)
    return latency[group], np.where(amount > 0, latency[group] + serialization, 0)


def _sources(collective: Collective) -> NDArray[np.int32]:
    """Whose data each member needs: one other member, everybody (-1) or nobody (-2). Of several, but not all, one; for
    conditions nobody, which is as true."""
    n, sent = collective.num_ranks, collective.sent
    origin, destination = collective.origin[sent], collective.destination[sent]
    ranks = np.arange(n)
    if n == 1 or not len(origin) or collective.conditions is not None:
        return np.full(n, _NOBODY, np.int32)
    for_all, summed = destination[0] < 0, origin[0] < 0
    if summed:
        wanting = np.isin(ranks, destination) | for_all
        return np.where(wanting, np.int32(_EVERYBODY), np.int32(_NOBODY))
    if for_all:
        origins = np.unique(origin)
        count = len(origins) - np.isin(ranks, origins)
        one = np.where(ranks == origins[0], origins[-1], origins[0])
    else:
        to, source = np.divmod(np.unique(destination.astype(np.int64) * n + origin), n)
        count = np.bincount(to[to != source], minlength=n)
        one = np.zeros(n, np.int64)
        one[to[to != source]] = source[to != source]
    of_several = np.where((count == n - 1) & (n > 2), _EVERYBODY, one)
    return np.where(count == 0, _NOBODY, of_several).astype(np.int32)
