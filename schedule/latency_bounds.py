"""Bounds in which latency and bandwidth add up, for any number of chunks and any sharing of links.

All are about single bits: a bit that starts at rank u is at rank w no sooner than the distance from u to w, the least
sum of latencies, and a link of b bytes/s brings at most b times as many bytes as the time is long in which they come.

- **ports after latency**: bits that rank w needs of ranks at a distance of t or more come between t and the end T, over
  the links into w: T >= t + bytes / bandwidth, for every t. An all_reduce has each position of the buffer come in at
  least once with what the farthest rank contributes. In the same way bits that must get as far as t leave between 0 and
  T - t; what must get to all ranks, as far as to the farthest.
  A transfer of a schedule is on the last link of its route from its start on, before its bytes can be there, unless it
  blocks: what comes straight from afar takes the link early, and what others pass on takes it later. The last route
  alone surely ends after its latency l then: T >= max(t, l + bytes / bandwidth), with the least l of any that ends at
  w. Links out of a rank are the first of their routes.
- **parts and what follows inside** (no switch computes, nobody relays): let m ranks of a part all want N bytes of what
  is outside of it. A transfer of a bit from outside to rank v of the part, on its links at a time t, is there at the
  earliest at t + a, with the least latency a of all that end in the part; it can matter to those alone that are so near
  to v that they can have it by T. Each of the m gets the bit by way of the last transfer of it that came from outside,
  and the bit goes on inside. So if a transfer counts 1/m for each rank that it can matter to, no bit's transfers count
  less than 1 in all. Let r(k) be the time after which some rank of the part can have reached k of the m: what passes
  W bytes/s into the part counts W (T - a - r(k)) / m for each k, so W times the sum of all max(0, T - a - r(k)) is at
  least m N. With two ranks that are r(2) apart and bits that come in twice or once, this is T >= a + N / W + r(2) / 2.
  Parts are machines, planes, halves, lines, ranks within a latency of each other, ranks that the faster links of a
  network without switches join, and all ranks outside of any of these. Of the latter what starts in the whole that is
  left out has to reach all others, and so all that are as far as one likes (the m).
  Summing up is the mirror image in time: what leaves a part at time t can carry contributions of the ranks that are
  within t of where it leaves. In an all_reduce both count: a transfer of a position into a part at time t counts for
  the pairs of an origin outside within t and a destination inside within T - t, and no position's transfers count for
  less than all pairs.
- **parts after latency** (all_to_all, gather, scatter): the N bytes for ranks of a part that start at a distance of a
  or more from all of them pass a link into it between the first's coming and T less the rest of its way, within T - a:
  T >= a + N / W, for every a. In the same way for what leaves it.

Of links into a part that do not block, the least a stands for every a, as with ports.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import not_here
from hocket.base.units import format_bandwidth
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.gossip_bounds import Gossip
from hocket.schedule.reach import FAR_PS, PICOSECONDS, after, latency_clusters, soonest, soonest_to_pay
from hocket.schedule.schedule import Bound
from hocket.topology import Topology
from hocket.topology.partition import Partition

__all__ = ["latency_bounds"]

_MOST_NODES, _MOST_KINDS = 300, 4
_MOST_DISTANCES = 8
_KINDS = {
    Kind.ALL_REDUCE,
    Kind.ALL_TO_ALL,
    Kind.GATHER,
    Kind.SCATTER,
    Kind.BROADCAST,
    Kind.REDUCE,
    Kind.ALL_GATHER,
    Kind.REDUCE_SCATTER,
}
_Times = NDArray[np.int64]


def latency_bounds(
    collective: Collective, topology: Topology, ranks: NDArray[np.int32], helpers: bool, blocking: bool
) -> Iterator[Bound]:
    """The arguments above; `helpers`: ranks outside the collective's may hold chunks; `blocking`: links are held until
    transfers have finished. None for conditions, and where ranks and switches are more than some hundred."""
    if collective.conditions is not None or topology.num_nodes > _MOST_NODES or len(ranks) < 2:
        return
    needs = _Needs.of(collective)
    if needs is None:
        return
    distances = _distances(topology)[np.ix_(ranks, ranks)]
    last_ps = np.full(len(ranks), FAR_PS) if blocking else _last_hops(topology, ranks, helpers)
    for name, ends, items, far, latest_ps in (
        ("ingress", topology.dst, needs.entering, distances.T, last_ps),
        ("egress", topology.src, needs.leaving, distances, np.full(len(ranks), FAR_PS)),
    ):
        bandwidth = np.zeros(topology.num_nodes)
        np.add.at(bandwidth, ends, topology.bandwidth.astype(np.float64))
        times = items.times(far, bandwidth[ranks], latest_ps)
        worst = int(np.argmax(times))
        yield Bound(int(times[worst]), f"{name} of rank {ranks[worst]} after latency")
    if topology.in_network or helpers or len(ranks) < 3:
        return
    for partition in (topology.partitions[0], *_partitions(topology)):
        used, part = np.unique(partition.part[ranks], return_inverse=True)
        if len(used) == 1:
            continue
        into, out_of = (each[used].tolist() for each in (partition.ingress_bandwidth, partition.egress_bandwidth))
        if needs.both and len(used) > 2:
            time_ps = Gossip.between(part, distances).time_ps(collective.size_bytes, min(sum(into), sum(out_of)))
            yield Bound(time_ps, f"traffic and latency between {partition.every}")
        names = [partition.one.format(name) for name in partition.names[used]]
        sets = [part == number for number in range(len(used))]
        inwards, outwards = (
            _Direction("ingress", True, distances, into),
            _Direction("egress", False, distances.T, out_of),
        )
        if len(used) < len(ranks):
            yield from _crossing(needs, sets, names, inwards, outwards, blocking)
        if needs.pairs is None and not needs.both and (collective.rooted or len(used) < len(ranks)):
            # What leaves a part to be spread comes into all others, and the other way around for sums.
            way = replace(outwards, far=distances) if needs.spread else replace(inwards, far=distances.T)
            left = [needs.leaving_whole(one, way.far, flow) for one, flow in zip(sets, way.bandwidth, strict=True)]
            worst = int(np.argmax(left))
            yield Bound(left[worst], f"{way.name} of {names[worst]} and latency outside")


@dataclass(frozen=True)
class _Direction:
    """Into parts, or out of them: the latencies that way, and each part's bandwidth."""

    name: str
    into: bool
    far: _Times
    bandwidth: list[int]


def _crossing(
    needs: "_Needs",
    sets: list[NDArray[np.bool_]],
    names: list[str],
    inwards: _Direction,
    outwards: _Direction,
    blocking: bool,
) -> Iterator[Bound]:
    """What goes into sets of ranks and on inside, or the other way around."""
    in_and_out = needs.pairs is not None or needs.both
    for way in (inwards, outwards) if in_and_out else (inwards if needs.spread else outwards,):
        early = way.into and not blocking
        times = [
            needs.crossing(one, way.far, flow, way.into, early) for one, flow in zip(sets, way.bandwidth, strict=True)
        ]
        worst = int(np.argmax(times))
        followed = "and latency inside" if needs.pairs is None else "after latency"
        yield Bound(times[worst], f"{way.name} of {names[worst]} {followed}")


@lru_cache(maxsize=16)
def _partitions(topology: Topology) -> tuple[Partition, ...]:
    """The topology's own, and the ranks that links of a bandwidth or more join to each other; with switches those that
    are within a latency of each other."""
    kinds = np.unique(topology.bandwidth)[1:]
    if topology.num_nodes > topology.num_ranks or len(kinds) > _MOST_KINDS:
        return (*topology.partitions[1:], *latency_clusters(topology, _distances(topology)))
    joined = [
        Partition.by(
            f"the ranks that links of {format_bandwidth(kind)} join to rank {{}}",
            "all ranks that such links join",
            _first_joined(topology, topology.bandwidth >= kind),
            topology.graph,
            topology.reversed_graph,
        )
        for kind in kinds.tolist()
    ]
    return (*topology.partitions[1:], *joined)


def _first_joined(topology: Topology, links: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Of each rank the first that it is joined to by such links."""
    first = np.arange(topology.num_ranks)
    src, dst = topology.src[links], topology.dst[links]
    while True:
        before = first.copy()
        np.minimum.at(first, dst, first[src])
        np.minimum.at(first, src, first[dst])
        if np.array_equal(before, first):
            return first


@lru_cache(maxsize=16)
def _distances(topology: Topology) -> _Times:
    """The least sum of latencies from each node to each (Floyd and Warshall)."""
    nodes = topology.num_nodes
    far = np.full((nodes, nodes), FAR_PS, np.int64)
    np.minimum.at(far, (topology.src, topology.dst), topology.latency_ps)
    np.fill_diagonal(far, 0)
    for middle in range(nodes):
        np.minimum(far, far[:, middle, None] + far[None, middle, :], out=far)
    return far


def _last_hops(topology: Topology, ranks: NDArray[np.int32], helpers: bool) -> _Times:
    """The least latency to each rank from another node where chunks may stay."""
    others = range(topology.num_ranks) if helpers else ranks.tolist()
    holders = np.array([*others, *topology.in_network])
    far = _distances(topology)[np.ix_(holders, ranks)]
    far[holders[:, None] == ranks] = FAR_PS
    nearest: _Times = far.min(axis=0)
    return nearest


@dataclass(frozen=True)
class _Items:
    """Bytes that each rank must get from, or give to, others: `bytes[r, k]` at the distance of rank k; `at_farthest`:
    instead, `bytes[r, 0]` that reach as far as the farthest of those of `others` (r, k)."""

    bytes: NDArray[np.int64]
    others: NDArray[np.bool_]
    at_farthest: bool

    def times(self, far: _Times, bandwidth: NDArray[np.float64], latest_ps: _Times) -> _Times:
        """Of each rank the latest t + (bytes at a distance of t or more) / bandwidth, where of t no more than the
        rank's `latest_ps` comes on top of what bytes take."""
        if self.at_farthest:
            farthest = np.where(self.others, far, 0).max(axis=1)
            moved_ps = _transfer_times(self.bytes[:, 0], bandwidth)
            times = np.maximum(farthest, np.minimum(farthest, latest_ps) + moved_ps)
            return np.where(self.others.any(axis=1) & (self.bytes[:, 0] > 0), times, 0)
        order = np.argsort(-far, axis=1, kind="stable")
        there = np.take_along_axis(self.others & (self.bytes > 0), order, axis=1)
        amounts = np.where(there, np.take_along_axis(self.bytes, order, axis=1), 0).cumsum(axis=1)
        distance = np.take_along_axis(far, order, axis=1)
        times = np.minimum(distance, latest_ps[:, None]) + _transfer_times(amounts, bandwidth[:, None])
        times = np.maximum(distance, times)
        latest: _Times = np.where(there, times, 0).max(axis=1)
        return latest


@dataclass(frozen=True)
class _Needs:
    """What must get into and out of each rank; and by part: `whole` bytes of each rank (k) that all others want, or
    contribute to (`spread`: they want it); `both`: each rank contributes to all bytes, and wants them all; `pairs`:
    instead, the bytes that rank k has for rank r (k, r)."""

    entering: _Items
    leaving: _Items
    whole: NDArray[np.int64]
    spread: bool
    both: bool
    pairs: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, collective: Collective) -> "_Needs | None":
        """None for kinds that nothing is said of here: no bound is lost but this."""
        if collective.kind not in _KINDS:
            return None
        n, root = collective.num_ranks, np.arange(collective.num_ranks) == collective.root
        apart, nothing = ~np.eye(n, dtype=np.bool_), np.zeros(n, np.int64)
        total, block = collective.size_bytes, _block_bytes(collective)
        all_of_root = np.where(root, total, 0)
        match collective.kind:
            case Kind.ALL_REDUCE:
                one = _Items(np.full((n, 1), total), apart, at_farthest=True)
                return cls(one, one, nothing, spread=True, both=True)
            case Kind.ALL_TO_ALL:
                into, out_of = _Items(block.T, apart, False), _Items(block, apart, False)
            case Kind.GATHER:
                into = _Items(np.where(root[:, None], block, 0), apart, False)
                out_of = _Items(np.where(root[None, :], block.T, 0), apart, False)
            case Kind.SCATTER:
                into = _Items(np.where(root[None, :], block.T, 0), apart, False)
                out_of = _Items(np.where(root[:, None], block, 0), apart, False)
            case Kind.BROADCAST | Kind.REDUCE:
                of_others, of_root = _Items(np.tile(all_of_root, (n, 1)), apart, False), _own(all_of_root, apart)
                spread = collective.kind is Kind.BROADCAST
                return cls(*_in_time(of_others, of_root, spread), all_of_root, spread, both=False)
            case Kind.ALL_GATHER | Kind.REDUCE_SCATTER:
                spread = collective.kind is Kind.ALL_GATHER
                return cls(
                    *_in_time(_Items(block, apart, False), _own(block[0], apart), spread), block[0], spread, False
                )
            case _:
                not_here(collective.kind)
        return cls(into, out_of, nothing, spread=True, both=False, pairs=np.where(into.others, into.bytes, 0).T)

    def crossing(self, inside: NDArray[np.bool_], far: _Times, bandwidth: float, into: bool, early: bool) -> int:
        """The time for what ranks inside a part want of others (`into`; else with `far` and `bandwidth` turned around:
        for what they contribute to of others', or have for them); 0 where there is nothing. `early`: links may be held
        before bytes can be there, so that only the least distance comes on top of what bytes take."""
        outside = ~inside
        distance = far[np.ix_(outside, inside)].min(axis=1)
        least, within = distance.min(), soonest(far[np.ix_(inside, inside)])
        if self.both:
            before = soonest(far.T[np.ix_(outside, outside)])
            return soonest_to_pay(float(self.entering.bytes[0, 0]), bandwidth, least + after(before, within))
        if self.pairs is not None:
            pairs, within = self.pairs if into else self.pairs.T, np.zeros(1, np.int64)
            amount = pairs[np.ix_(outside, inside)].sum(axis=1)
        else:
            amount = self.whole[outside]
        if early:
            total = float(amount.sum())
            if total == 0:
                return 0
            return max(int(distance[amount > 0].max()), int(least) + soonest_to_pay(total, bandwidth, within))
        latest = 0
        for start in np.unique(distance[amount > 0]).tolist():
            so_far = float(amount[distance >= start].sum())
            latest = max(latest, start + soonest_to_pay(so_far, bandwidth, within))
        return latest

    def leaving_whole(self, whole: NDArray[np.bool_], far: _Times, bandwidth: float) -> int:
        """The time for what ranks of `whole` have for all others (`far` and `bandwidth` turned around: want of all
        others); 0 where there is nothing."""
        others = ~whole
        amount = float(self.whole[whole].sum())
        if amount == 0:
            return 0
        entry, start = far[np.ix_(whole, others)].min(axis=0), far[np.ix_(whole & (self.whole > 0), others)].min(axis=0)
        # Of sums the windows of different ranks out are shifted against each other, so that all of them together are
        # longer than any one: the least latency out and the least from there on are taken apart, or it would be false.
        on = far[np.ix_(others, others)] + (entry[:, None] if self.spread else int(entry.min()))
        farther = np.unique(start)[-_MOST_DISTANCES:].tolist()
        return max(soonest_to_pay(amount, bandwidth, soonest(on[:, start >= least])) for least in farther)


def _own(amount: NDArray[np.int64], apart: NDArray[np.bool_]) -> _Items:
    """What each rank has that gets to the farthest of all others."""
    return _Items(amount[:, None], apart, at_farthest=True)


def _in_time(of_others: _Items, own: _Items, spread: bool) -> tuple[_Items, _Items]:
    """What enters and what leaves ranks; the other way around where it is summed up."""
    return (of_others, own) if spread else (own, of_others)


def _block_bytes(collective: Collective) -> NDArray[np.int64]:
    """The bytes of the block that rank k has for rank r of an all_to_all (k, r), or of rank k's block, for every r
    (r, k)."""
    n, kind = collective.num_ranks, collective.kind
    if kind.in_pairs and not collective.even:
        pairs: NDArray[np.int64] = collective.chunk_bytes.reshape(n, n, -1).sum(axis=2)
        return pairs
    if not kind.cut_by_rank or collective.cut_whole:
        return np.zeros((n, n), np.int64)
    amount = collective.slot_bytes if collective.even else collective.chunk_bytes
    return np.tile(amount.reshape(n, -1).sum(axis=1), (n, 1))


def _transfer_times(amount: NDArray[np.int64] | NDArray[np.float64], bandwidth: NDArray[np.float64]) -> _Times:
    """Picoseconds, rounded down by more than floating point can be wrong: the same on any machine, as IEEE 754 says
    what each operation yields."""
    times = np.minimum(amount.astype(np.float64) * PICOSECONDS / np.maximum(bandwidth, 1.0), float(FAR_PS))
    whole = times.astype(np.int64)
    least: _Times = np.maximum(0, whole - (whole >> 48) - 2)
    return least
