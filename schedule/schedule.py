"""An algorithm for a collective on a topology: timed transfers as columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Transfers
from hocket.schedule.collective import Collective
from hocket.topology import Topology

__all__ = ["Bound", "Schedule", "busiest_of"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A time that no schedule can beat: the largest of several arguments, and the name of the one that is it."""

    time_ps: int
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """Transfers of chunks between ranks, sorted by start_ps: structure of arrays, M transfers. Where several are ready
    at one time, they go in this order.

    `chunk` int32; `route` int32, an index into the routes; `reduce` bool: the receiver adds the chunk to what it holds
    instead of overwriting it. `start_ps`, `finish_ps` int64: the transfer occupies its route from start and the
    receiver may use the chunk from finish on; finish is after start (an empty chunk takes a picosecond), so causality
    has no cycles. In an untimed schedule (`timed` false: a native algorithm before a model has timed it) they count
    logical steps instead, and links may be shared within a step.

    A route is a path of links from a rank to a rank, through switches (which cut through) or other ranks (which store
    and forward, but do not keep the chunk): route k is `route_links[route_offset[k]:route_offset[k+1]]` (int32 link
    ids), from node `route_src[k]` to node `route_dst[k]` of the topology. It may also start or end at a switch that
    computes (`Topology.in_network`), which holds nothing at first and otherwise does as a rank.

    A transfer sends what its source holds at `start_ps`: it depends on every transfer of the same chunk into its source
    that finished by then. Nothing else is stored about dependencies; `hocket.schedule.dependencies` derives them. `own`
    (bool; None: no transfer) marks those that carry the source's own contribution instead, as it was before the
    collective, whatever the source has added to it since: they depend on nothing. `blocking` says how long a transfer
    holds its links: latency + serialization (TACOS' model) or, if false, serialization on the slowest link only.

    `group` places the collective on the topology: collective rank i is topology rank `group[i]` (int32; None: rank i).
    Links and routes speak of topology ranks; `src`, `dst` and the collective of collective ranks, followed by the
    `relay_nodes`: the i-th is `num_ranks + i`. `relays` says that ranks outside the group may hold chunks too, as
    switches that compute do.
    """

    collective: Collective
    topology: Topology
    route_offset: NDArray[np.int64]
    route_links: NDArray[np.int32]
    chunk: NDArray[np.int32]
    route: NDArray[np.int32]
    reduce: NDArray[np.bool_]
    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]
    timed: bool
    blocking: bool
    bound: Bound | None
    generator: str
    seed: int | None
    group: NDArray[np.int32] | None = None
    relays: bool = False
    own: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        what = f"{self.collective.describe()} on {self.topology.name}"
        return f"<Schedule of {what}: {self.num_transfers} transfers by {self.generator}>"

    @property
    def num_transfers(self) -> int:
        return len(self.chunk)

    @cached_property
    def transfers(self) -> Transfers:
        """The engine's view of the columns. Raises ScheduleError when one of them points outside what it indexes."""
        return Transfers(
            self.topology.graph,
            self.route_offset,
            self.route_links,
            self.chunk,
            self.route,
            self.reduce,
            self.start_ps,
            self.finish_ps,
            self.collective.num_chunks,
            np.zeros(0, np.bool_) if self.own is None else self.own,
        )

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Whether each transfer carries its source's own contribution (bool, length M): `own`, spelled out."""
        return np.zeros(self.num_transfers, np.bool_) if self.own is None else self.own

    def own_of(self, transfers: NDArray[Any]) -> NDArray[np.bool_] | None:
        """`own` of the schedule that these of its transfers make (positions, or a bool for each)."""
        return None if self.own is None else self.own[transfers]

    @property
    def ranks(self) -> NDArray[np.int32]:
        """Topology rank of each collective rank (int32, length collective.num_ranks)."""
        return np.arange(self.collective.num_ranks, dtype=np.int32) if self.group is None else self.group

    @property
    def relay_nodes(self) -> NDArray[np.int32]:
        """Nodes of the topology (int32) besides the group where chunks may stay: the switches that compute, then the
        ranks outside the group if `relays`, ascending."""
        outside = np.setdiff1d(np.arange(self.topology.num_ranks if self.relays else 0), self.ranks)
        return np.array([*self.topology.in_network, *outside.tolist()], np.int32)

    @property
    def collective_rank(self) -> NDArray[np.int32]:
        """Number of each node of the topology in the collective (int32, length num_nodes): a rank of the group, or a
        relay; -1 for others."""
        rank, relays = np.full(self.topology.num_nodes, -1, np.int32), self.relay_nodes
        rank[relays] = self.collective.num_ranks + np.arange(len(relays))
        rank[self.ranks] = np.arange(self.collective.num_ranks, dtype=np.int32)
        return rank

    @property
    def route_src(self) -> NDArray[np.int32]:
        """Node of the topology that each route leaves (int32, length routes)."""
        return self.topology.src[self.route_links[self.route_offset[:-1]]]

    @property
    def route_dst(self) -> NDArray[np.int32]:
        """Node of the topology that each route reaches (int32, length routes)."""
        return self.topology.dst[self.route_links[self.route_offset[1:] - 1]]

    @property
    def src(self) -> NDArray[np.int32]:
        """Sending collective rank (or relay) of each transfer (int32, length M)."""
        return self.collective_rank[self.route_src][self.route]

    @property
    def dst(self) -> NDArray[np.int32]:
        """Receiving collective rank (or relay) of each transfer (int32, length M)."""
        return self.collective_rank[self.route_dst][self.route]

    @cached_property
    def busiest_link_ps(self) -> int:
        """Picoseconds, rounded down, that the busiest link needs for its bytes alone. Where links are not shared for
        free, no timing of transfers is quicker."""
        route_bytes = np.bincount(
            self.route, self.collective.chunk_bytes[self.chunk], minlength=len(self.route_offset) - 1
        )
        link_bytes = np.bincount(
            self.route_links, np.repeat(route_bytes, np.diff(self.route_offset)), minlength=self.topology.num_links
        )
        return busiest_of(self.topology, link_bytes)

    def expand(self) -> "Schedule":
        """The schedule with all transfers spelled out: itself. (A FoldedSchedule has to make it.)"""
        return self

    @property
    def time_ps(self) -> int:
        """When the last transfer is done, in picoseconds (steps when untimed); 0 for an empty schedule."""
        return int(self.finish_ps.max(initial=0))


def busiest_of(topology: Topology, link_bytes: NDArray[np.number[Any]]) -> int:
    """Picoseconds, rounded down, that the busiest link needs for so many bytes each."""
    return int((link_bytes * 1e12 / topology.bandwidth).max(initial=0) * (1 - 1e-9))
