"""Times that no schedule can beat, each with its proof.

All hold for every schedule that `verify` accepts: whole chunks travel, a link carries one at a time (a trunk as many as
it has bandwidth for), and ranks that pass a chunk on store it first, as may switches that add or copy. These change
nothing where a chunk is counted once: a contribution to it still takes a way from link to link, and two chunks never
share a transfer.

- **latency**: a chunk that u alone contributes to, and w must hold, travels from u to w on links that are at best idle.
- **ingress / egress of a rank**: a chunk that a rank must hold at the end, and does not hold in full before, enters it
  at least once; a chunk that it contributes to and another rank must hold leaves it at least once. Its links carry one
  chunk at a time, in slots of whole transfers (`least_time`), and together no more than the maximum flow.
- **machine**, **plane**, **half**, **line**: the same for a set of ranks seen as one: those of a machine, those with
  the same coordinate in one dimension, those below its middle, those that differ in one dimension only. Slots are
  counted where no switch joins the set with others.
- **traffic**: what is spread to all of n ranks, or summed up over all of them, is delivered at least n-1 times, as n
  ranks need n-1 deliveries to be joined. Each chunk of an all_reduce is delivered at least 2(n-1) times: take
  deliveries in order of their finish. The one that first makes some rank know all n contributions has n-2 others or
  more before it; after it each of the other n-1 ranks still lacks something. The links into (out of) all ranks carry
  all of that; for an all_reduce also those of all machines, planes or lines, each seen as one rank. A switch that adds
  or copies saves deliveries, so there must be none, nor ranks outside the group that relay; for machines, planes or
  lines no switch but inside one of them.
- **prices** (all_to_all, gather, scatter; each chunk has one origin and one destination): let every link charge a price
  for each picosecond that it is held. A chunk pays at least the distance from its origin to its destination, where a
  link is as long as its price times the least it is held for the chunk, on whatever route through switches; in time T
  links earn at most T times the sum of the prices, where latency follows the last transfer less its part. Any prices
  prove a time. By linear programming duality the best of them prove the optimum of the fluid flow; `path_prices`
  approaches them by the equilibrium of traffic over links that get dearer with their load (gradient projection, of
  traffic assignment), `certificate` asks HiGHS (for all_to_all: arXiv 2309.13541).
- **flow** (gather, broadcast; scatter and reduce on the reversed graph): by time T a link passes on so many whole
  chunks and so many bytes; the maximum flow must carry what one rank is to get, as chunks are never merged on the way.
- **cut** (all_gather; reduce_scatter on the reversed graph): what the ranks of a set of nodes contribute must leave the
  set, for the worst set (Edmonds; ForestColl, arXiv 2402.06787): max over S of |S's ranks| / bandwidth out of S, for
  one byte a rank. Where links serve one chunk at a time, and sizes allow to look at all sets (by maximum flows to every
  rank, `cut_bound`), in slots of whole transfers; a switch's link is held at least as long as the widest route over it,
  a trunk as long as its bytes take.

Where latency and bandwidth add up: `hocket.schedule.latency_bounds`.

A link that blocks passes on no more bytes/s than the largest chunk per its serialization + latency: of **machines**,
**planes**, **lines** and the **cut** this is the bandwidth then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import HORIZON_PS, Holding, cut_bound, least_time, least_times
from hocket.base.collectives import Held
from hocket.base.errors import Infeasible
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.crossings import entering, leaving
from hocket.schedule.flow_bounds import one_end_bounds, path_bounds
from hocket.schedule.latency_bounds import latency_bounds
from hocket.schedule.schedule import Bound
from hocket.topology import Topology, all_gather_cut, eccentricity_ps, routes
from hocket.topology.model import LinkIndex
from hocket.topology.partition import Partition

__all__ = ["at_pace", "lower_bound"]

_PICOSECONDS = 10**12
_NEVER_PS = 2**63 - 1
_Integer = TypeVar("_Integer", np.int32, np.intp)
_SLOT_WORK = 10_000_000  # links looked at for the worst cut in slots
_MOST_NAMED = 8
_LATENCY_WORK = 10_000_000  # links looked at for the latency: seconds at most


def lower_bound(
    collective: Collective,
    topology: Topology,
    blocking: bool = False,
    group: NDArray[np.int32] | None = None,
    shared: bool = False,
    relays: bool = False,
    split: bool = False,
    searched: Sequence[int] | None = None,
) -> Bound:
    """The largest of the arguments above for the collective on the topology, and the name of the one that is it.

    `blocking`: a transfer holds its links for its latency as well. `group`, `relays`: as in Schedule. `shared`: links
    may carry several transfers at a time, each more slowly, so that no transfer has a slot of its own. `split`:
    besides, a chunk may go in parts over several routes. `searched`: the members whose distances to the others count
    (None: all, or some where they are many), as the rest do as these. Raises Infeasible when ranks that must talk are
    not connected, or the time is beyond the engine's horizon of 26 days.
    """
    if collective.num_ranks == 1:
        return Bound(0, "a single rank holds everything")
    if not (collective.even or collective.sent.any()):
        return Bound(0, "no block has a byte")
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    alone = Holding.BLOCKING if blocking else Holding.SHARED if shared or split else Holding.WIRE
    holding = Holding.SHARED if alone is Holding.WIRE and topology.has_trunks else alone
    paced = at_pace(topology, collective.largest_chunk_bytes) if blocking else topology
    helpers = relays and len(ranks) < topology.num_ranks
    latency = [] if searched is not None else [*_latency(collective, topology, ranks, split)]
    far_ps = 0 if searched is None else _on_routes(collective, topology, ranks, ranks[np.array(searched)])
    bounds = [
        *latency,
        *_ports(collective, topology, ranks, holding, helpers, split),
        *_parts(collective, topology, paced, ranks, holding, helpers, split),
        *_cut(collective, topology, paced, ranks, alone),  # which knows trunks
        *latency_bounds(collective, topology, ranks, helpers),
    ]
    if searched is not None and far_ps >= max((bound.time_ps for bound in bounds), default=0):
        bounds += _latency(collective, topology, ranks, split, ranks[np.array(searched)])
    for flows in (path_bounds, one_end_bounds):
        least_ps = max(bound.time_ps for bound in bounds)
        if least_ps <= HORIZON_PS:
            bounds += flows(collective, topology, ranks, holding, least_ps)
    bound = max(bounds, key=lambda bound: bound.time_ps)
    if bound.time_ps > HORIZON_PS:
        raise Infeasible(
            f"{collective.describe()} takes more than 26 days (2^61 ps) on {topology.name}, because of its "
            f"{bound.reason}: check the units of sizes, bandwidths and latencies"
        )
    return bound


def at_pace(topology: Topology, chunk_bytes: int) -> Topology:
    """The topology with the bytes/s, rounded up, that each link passes on when it rests for its latency after each
    chunk of so many bytes: no link does better with smaller chunks."""
    if chunk_bytes == 0 or not topology.latency_ps.any():
        return topology
    moved = chunk_bytes * _PICOSECONDS
    bandwidth = topology.bandwidth.astype(object)
    paced = -(-moved * bandwidth // (topology.latency_ps.astype(object) * bandwidth + moved))
    return replace(topology, bandwidth=np.maximum(1, paced.astype(np.int64)))


def _latency(
    collective: Collective,
    topology: Topology,
    ranks: NDArray[np.int32],
    split: bool,
    searched: NDArray[np.int32] | None = None,
) -> Iterator[Bound]:
    """A chunk in parts is there when the last byte is, which has its latency still before it when it leaves: that alone
    counts, as `_ports` has what the bytes take."""
    bytes, from_ranks, to_ranks, kind = 0 if split else collective.smallest_chunk_bytes, ranks, ranks, collective.kind
    if not (kind.reduces or kind.spreads or kind.rooted or kind.in_pairs):  # who has something has it for some only
        yield Bound(_custom_latency(collective, topology, ranks, bytes), "latency to the farthest rank")
        return
    if not collective.even_exchange:
        sent = collective.sent
        from_ranks, to_ranks = _at(ranks, collective.origin[sent]), _at(ranks, collective.destination[sent])
    if kind.after is Held.ROOT:
        time = eccentricity_ps(topology.reversed_graph, bytes, to_ranks, from_ranks)
    elif kind.in_pairs and collective.block_bytes is not None:
        pairs = np.any(sent.reshape(len(ranks), len(ranks), -1), axis=2)
        sources = _some(np.flatnonzero(np.any(pairs, axis=1)), topology)
        time = np.array([
            eccentricity_ps(topology.graph, bytes, ranks[[source]], ranks[pairs[source]])[0] for source in sources
        ])  # fmt: skip
    else:
        if searched is not None:
            from_ranks = np.intersect1d(from_ranks, searched)
        time = eccentricity_ps(topology.graph, bytes, _some(from_ranks, topology), to_ranks)
    yield Bound(int(time.max()), "latency to the farthest rank")


def _custom_latency(collective: Collective, topology: Topology, ranks: NDArray[np.int32], bytes: int) -> int:
    """The same for conditions: from each rank to all that want something of it."""
    wanting: dict[int, set[int]] = {}
    for origin, destination in _ends(collective):
        for rank in collective.members(origin):
            wanting.setdefault(rank, set()).update(collective.members(destination))
    sources = _some(np.array(sorted(wanting)), topology).tolist()
    return max(
        int(eccentricity_ps(topology.graph, bytes, ranks[[source]], ranks[sorted(wanting[source])])[0])
        for source in sources
    )


def _ends(collective: Collective) -> list[tuple[int, int]]:
    """The different pairs of sets (by number) that contribute to a chunk, and want it."""
    ends = np.stack([collective.origin, collective.destination])
    return [(int(origin), int(destination)) for origin, destination in np.unique(ends, axis=1).T]


def _at(ranks: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.int32]:
    """The ranks that chunks come from or go to; an end of -1 is every rank."""
    return ranks if ends[0] < 0 else ranks[np.unique(ends)]


def _on_routes(
    collective: Collective, topology: Topology, ranks: NDArray[np.int32], searched: NDArray[np.int32]
) -> int:
    """Picoseconds after which all have the smallest chunk of those that are searched from by routes: at least what
    `_latency` says."""
    pairs = np.stack([np.repeat(searched, len(ranks)), np.tile(ranks, len(searched))], axis=1)
    offset, links = routes(topology.graph, pairs[pairs[:, 0] != pairs[:, 1]])
    if not len(links):
        return 0
    first = offset[:-1]
    latency = np.add.reduceat(topology.latency_ps[links], first)
    stored = np.add.reduceat((topology.dst[links] < topology.num_ranks).astype(np.int64), first)
    slowest = np.minimum.reduceat(topology.bandwidth[links], first)
    moved = collective.smallest_chunk_bytes * _PICOSECONDS
    each = zip(latency.tolist(), stored.tolist(), slowest.tolist(), strict=True)
    times: list[int] = [ps + hops * -(-moved // bandwidth) for ps, hops, bandwidth in each]
    return max(times)


def _some(sources: NDArray[_Integer], topology: Topology) -> NDArray[_Integer]:
    """Sources to search from: any give a bound; evenly spread ones where all would take long."""
    searches = max(1, _LATENCY_WORK // max(1, topology.num_links))
    if searches >= len(sources):
        return sources
    return sources[np.arange(searches) * len(sources) // searches]


def _ports(
    collective: Collective, topology: Topology, ranks: NDArray[np.int32], holding: Holding, helpers: bool, split: bool
) -> Iterator[Bound]:
    n, smallest = len(ranks), 0 if split else collective.smallest_chunk_bytes
    each, alone = np.arange(n), topology.partitions[0]
    for name, index, crossing, bandwidths in (
        ("ingress", topology.links_into, entering(collective, each), alone.ingress_bandwidth),
        ("egress", topology.links_out_of, leaving(collective, each), alone.egress_bandwidth),
    ):
        times = np.maximum(
            _transfer_times(crossing[1], bandwidths[ranks]),
            least_times(topology.graph, index.offset, index.ids, ranks, *crossing, smallest, holding),
        )
        worst = int(np.argmax(times))
        yield Bound(int(times[worst]), f"{name} of {alone.one.format(ranks[worst])}")
        rounds = collective.reducing + collective.spreads if collective.even else 0
        if rounds and not topology.in_network and not helpers:
            everything = np.concatenate([index.of(rank) for rank in ranks.tolist()])
            least = rounds * (n - 1)
            chunks_moved, bytes_moved = least * collective.num_chunks, least * collective.size_bytes
            time = least_time(topology.graph, everything, chunks_moved, smallest, bytes_moved, holding)
            yield Bound(time, f"traffic through the {name} of {alone.every}")


def _parts(
    collective: Collective,
    topology: Topology,
    paced: Topology,
    ranks: NDArray[np.int32],
    holding: Holding,
    helpers: bool,
    split: bool,
) -> Iterator[Bound]:
    smallest = 0 if split else collective.smallest_chunk_bytes
    for partition in paced.partitions[1:]:
        used, part = np.unique(partition.part[ranks], return_inverse=True)
        if len(used) in (1, len(ranks)):
            continue
        into, out_of = _links_between(topology, partition)
        for name, links, crossing, bandwidths in (
            ("ingress", into, entering(collective, part), partition.ingress_bandwidth),
            ("egress", out_of, leaving(collective, part), partition.egress_bandwidth),
        ):
            times = _transfer_times(crossing[1], bandwidths[used])
            if links is not None:
                slots = least_times(topology.graph, links.offset, links.ids, used, *crossing, smallest, holding)
                times = np.maximum(times, slots)
            worst = int(np.argmax(times))
            yield Bound(int(times[worst]), f"{name} of {partition.one.format(partition.names[used[worst]])}")
            if collective.kind is Kind.ALL_REDUCE and not helpers and _computes_inside(topology, partition):
                time = _transfer_time(2 * (len(used) - 1) * collective.size_bytes, sum(bandwidths[used].tolist()))
                yield Bound(time, f"traffic through the {name} of {partition.every}")


@lru_cache(maxsize=64)
def _links_between(topology: Topology, partition: Partition) -> tuple[LinkIndex | None, LinkIndex | None]:
    """The links into and out of each part from others; None where switches are on the way."""
    if topology.num_nodes > topology.num_ranks:
        return None, None
    (src, dst), parts = (partition.part[ends] for ends in (topology.src, topology.dst)), len(partition.names)
    into, out_of = (LinkIndex.by(np.where(src == dst, np.int32(parts), ends), parts + 1) for ends in (dst, src))
    return into, out_of


@lru_cache(maxsize=64)
def _computes_inside(topology: Topology, partition: Partition) -> bool:
    """Whether every switch that computes is linked with ranks of one part only."""
    for ends, others in ((topology.src, topology.dst), (topology.dst, topology.src)):
        links = np.isin(ends, topology.in_network)
        if (others[links] >= topology.num_ranks).any():
            return False
        pairs = np.unique(np.stack([ends[links], partition.part[others[links]]]), axis=1)
        if pairs.shape[1] != len(topology.in_network):
            return False
    return True


def _cut(
    collective: Collective, topology: Topology, paced: Topology, ranks: NDArray[np.int32], holding: Holding
) -> Iterator[Bound]:
    if collective.kind not in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER) or len(ranks) < topology.num_ranks:
        return
    gathers = collective.kind is Kind.ALL_GATHER
    block = int(collective.chunk_bytes.reshape(len(ranks), -1).sum(axis=1).min())
    roots = ranks[(collective.origin if gathers else collective.destination)[collective.chunk_bytes > 0]]
    if holding is not Holding.SHARED and len(roots) and len(ranks) ** 2 * topology.num_links <= _SLOT_WORK:
        graph, blocking = topology.graph if gathers else topology.reversed_graph, holding is Holding.BLOCKING
        time_ps, inside = cut_bound(graph, roots, collective.smallest_chunk_bytes, blocking)
        yield Bound(time_ps, f"cut between {_either(inside, len(ranks))} and the others")
    if block > 0:
        cut = all_gather_cut(paced.graph if gathers else paced.reversed_graph)
        yield Bound(_transfer_time(block * cut.ranks, cut.bandwidth), f"cut around {cut.ranks} ranks")


def _either(inside: NDArray[np.int32], ranks: int) -> str:
    """The smaller of the two parts, as `ranks 0-3,7`."""
    outside = np.setdiff1d(np.arange(ranks), inside)
    named = min(inside, outside, key=len)
    runs = np.split(named, np.flatnonzero(np.diff(named) > 1) + 1)
    text = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:_MOST_NAMED]]
    return f"rank{'s' * (len(named) > 1)} {','.join(text)}{',...' * (len(runs) > _MOST_NAMED)}"


def _transfer_time(bytes: int, bandwidth: int) -> int:
    return -(-bytes * _PICOSECONDS // bandwidth) if bytes else 0


def _transfer_times(bytes: NDArray[np.int64], bandwidth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Saturated at the int64 limit, which is beyond any horizon."""
    pairs = zip(bytes.tolist(), bandwidth.tolist(), strict=True)
    return np.array([min(_transfer_time(each, flow), _NEVER_PS) for each, flow in pairs], np.int64)
