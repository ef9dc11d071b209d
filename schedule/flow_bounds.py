"""Bounds by flows of chunks through the whole network: for collectives in which each chunk has one origin and one
destination, or all chunks one origin. The proofs are in `hocket.schedule.bounds`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Holding, flow_bound, least_holds, path_bound, path_prices
from hocket.base.units import format_bandwidth
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Bound
from hocket.topology import Topology

__all__ = ["Traffic", "one_end_bounds", "path_bounds"]

# Links looked at: two seconds at most.
_PRICE_WORK = 16_000_000
_MOST_PRICED = 8_000_000
_FLOW_WORK = 200_000
_MOST_ROUNDS = 48
_FEWEST_ROUNDS = 4
_MOST_KINDS = 4
_MOST_BYTES = 2**55  # what the engine can sum up


@dataclass(frozen=True, eq=False)
class Traffic:
    """Bytes from rank to rank of a topology, `bytes[k]` from `src[k]` to `dst[k]`: pairs of one source side by side.
    The chunks are of at most `largest_chunk` bytes; `alike`: all have that size."""

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    bytes: NDArray[np.int64]
    largest_chunk: int
    alike: bool

    @classmethod
    def of(cls, collective: Collective, ranks: NDArray[np.int32]) -> "Traffic | None":
        """What the collective sends between its `ranks`; None when a chunk has no one origin or destination, or nothing
        is sent."""
        moved = (collective.chunk_bytes > 0) & (collective.origin != collective.destination)
        if (collective.origin < 0).any() or (collective.destination < 0).any() or not moved.any():
            return None
        sizes = collective.chunk_bytes[moved]
        pair = collective.origin[moved].astype(np.int64) * len(ranks) + collective.destination[moved]
        pairs, number = np.unique(pair, return_inverse=True)
        total = np.zeros(len(pairs), np.int64)
        np.add.at(total, number, sizes)
        largest = int(sizes.max())
        return cls(ranks[pairs // len(ranks)], ranks[pairs % len(ranks)], total, largest, largest == int(sizes.min()))

    def bound(self, topology: Topology, holding: Holding, prices: NDArray[np.int64], least_ps: int) -> int:
        """The time that the prices prove (`path_bound` of the engine)."""
        return path_bound(
            topology.graph, self.src, self.dst, self.bytes, self.largest_chunk, self.alike, holding, prices, least_ps
        )

    def prices(self, topology: Topology, holding: Holding, rounds: int, least_ps: int) -> NDArray[np.int64]:
        """Good prices (`path_prices` of the engine)."""
        return path_prices(
            topology.graph, self.src, self.dst, self.bytes, self.largest_chunk, self.alike, holding, rounds, least_ps
        )

    def holds(self, topology: Topology, holding: Holding) -> NDArray[np.int64]:
        """For how long a chunk holds each link at least (`least_holds` of the engine)."""
        return least_holds(topology.graph, self.largest_chunk, self.alike, holding)


def path_bounds(
    collective: Collective, topology: Topology, ranks: NDArray[np.int32], holding: Holding, least_ps: int
) -> Iterator[Bound]:
    """What prices of links prove: one for all links of a bandwidth, and the best that an equilibrium has. `least_ps` is
    a time already proved."""
    if collective.even_exchange and len(ranks) * topology.num_links > _MOST_PRICED:
        return  # too much work in any case, and too many pairs to list
    traffic = Traffic.of(collective, ranks)
    if traffic is None or int(traffic.bytes.sum(dtype=object)) > _MOST_BYTES:
        return
    work = len(np.unique(traffic.src)) * topology.num_links
    if work > _MOST_PRICED:
        return
    for prices, reason in _guesses(topology):
        bound = Bound(traffic.bound(topology, holding, prices, least_ps), f"traffic {reason}")
        least_ps = max(least_ps, bound.time_ps)
        yield bound
    rounds = min(_MOST_ROUNDS, _PRICE_WORK // work)
    if rounds >= _FEWEST_ROUNDS:
        prices = traffic.prices(topology, holding, rounds, least_ps)
        yield Bound(traffic.bound(topology, holding, prices, least_ps), "traffic over the cheapest routes")


def _guesses(topology: Topology) -> Iterator[tuple[NDArray[np.int64], str]]:
    """Prices that are best where the slow links, or the fast ones, are scarce."""
    kinds = np.unique(topology.bandwidth)
    for bandwidth in kinds if 1 < len(kinds) <= _MOST_KINDS else ():
        yield (topology.bandwidth == bandwidth).astype(np.int64), f"over all links of {format_bandwidth(bandwidth)}"


def one_end_bounds(
    collective: Collective, topology: Topology, ranks: NDArray[np.int32], holding: Holding, least_ps: int
) -> Iterator[Bound]:
    """What can flow into the root of a gather, or from the root of a broadcast to some rank; for scatter and reduce on
    the reversed topology."""
    kind, root = collective.kind, collective.root
    graph = topology.reversed_graph if kind in (Kind.SCATTER, Kind.REDUCE) else topology.graph
    if kind in (Kind.GATHER, Kind.SCATTER):
        far = collective.origin if kind is Kind.GATHER else collective.destination
        moved = (collective.chunk_bytes > 0) & (far != root)
        suppliers, sinks = far[moved], ranks[[root]]
    elif kind in (Kind.BROADCAST, Kind.REDUCE):
        moved = collective.chunk_bytes > 0
        suppliers, sinks = np.full(np.count_nonzero(moved), root, np.int32), ranks[np.arange(len(ranks)) != root]
    else:
        return
    if not moved.any() or int(collective.chunk_bytes.sum(dtype=object)) > _MOST_BYTES:
        return
    sizes = collective.chunk_bytes[moved]
    chunks, supply = np.zeros((2, len(ranks)), np.int64)
    np.add.at(chunks, suppliers, 1)
    np.add.at(supply, suppliers, sizes)
    searched = min(len(sinks), max(1, _FLOW_WORK // max(1, topology.num_links)))
    time_ps, slowest = least_ps, -1
    for sink in sinks[np.arange(searched) * len(sinks) // searched].tolist():
        found = flow_bound(graph, ranks, chunks, supply, int(sizes.min()), sink, holding, time_ps)
        if found > time_ps:
            time_ps, slowest = found, sink
    if slowest >= 0:
        yield Bound(time_ps, f"flow between rank {ranks[root]} and {_others(kind, slowest)}")


def _others(kind: Kind, slowest: int) -> str:
    return "all others" if kind in (Kind.GATHER, Kind.SCATTER) else f"rank {slowest}"
