"""What is asked of an engine."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket._core.synthesizer import Demand, Network
from hocket.base.errors import ScheduleError
from hocket.schedule import (
    EVERYONE,
    AnySchedule,
    Bound,
    Collective,
    Kind,
    RankSetTable,
    Schedule,
    bound_of_any_chunks,
    lower_bound,
    mirror,
    rank_sets,
)
from hocket.topology import Lanes, Routes, Topology, eccentricity_ps, keep_links, links_within, rank_routes, subset

__all__ = ["Problem"]


@lru_cache(maxsize=8)
def _lanes(topology: Topology) -> Lanes | None:
    """Those of one topology object, with all that is known of them: a search has many problems on it."""
    return Lanes.of(topology)


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective to be done on a topology, by the ranks of `group` (collective rank i is topology rank group[i];
    None: by all).

    `blocking`: a transfer holds its links for latency + serialization, as in TACOS, instead of serialization only.
    `relays`: ranks outside the group may hold chunks on their way; else their links are not used. `through` (int32, by
    chunk, a set of ranks by number as in Conditions; None: the whole group) narrows who may hold a chunk, without
    `relays`; chunks of a lower `priority` (int32, by chunk) go first. `lanes`: what the topology is the lanes of, if it
    is (`on_lanes`). Raises ScheduleError when collective, group and topology do not fit together.
    """

    collective: Collective
    topology: Topology
    blocking: bool = False
    group: NDArray[np.int32] | None = None
    relays: bool = False
    through: NDArray[np.int32] | None = None
    priority: NDArray[np.int32] | None = None
    lanes: Lanes | None = None

    def __post_init__(self) -> None:
        if self.group is not None:
            group, total = self.group.tolist(), self.topology.num_ranks
            if len(set(group)) != len(group) or not group or min(group) < 0 or max(group) >= total:
                raise ScheduleError(f"a group must be different ranks of {self.topology.name}'s {total}, got {group}")
        ranks = self.topology.num_ranks if self.group is None else len(self.group)
        if self.collective.cut_whole:
            raise ScheduleError(
                f"{self.collective.describe()} in chunks of the whole buffer: no engine searches for those; build one"
                " of the native algorithms that take them (hocket.schedule.algorithms), such as direct"
            )
        if self.collective.num_ranks != ranks:
            raise ScheduleError(
                f"{self.collective.describe()} does not fit {self.topology.name} with its {ranks} ranks"
            )

    @cached_property
    def bound(self) -> Bound:
        """A time that no schedule beats."""
        if self.alone is None:
            return self._bound_on(self.topology)
        # The first names ranks as the topology does, the second knows more.
        within = keep_links(self.topology, links_within(self.topology, self.ranks))
        return max(self._bound_on(within), self.alone.bound, key=lambda bound: bound.time_ps)

    @cached_property
    def bound_any_chunks(self) -> Bound:
        """A time that no schedule beats, into however many chunks it cuts each rank's part."""
        if self.alone is None:
            return self._bound_any_chunks_on(self.topology)
        within = keep_links(self.topology, links_within(self.topology, self.ranks))
        return max(self._bound_any_chunks_on(within), self.alone.bound_any_chunks, key=lambda bound: bound.time_ps)

    def _bound_on(self, topology: Topology) -> Bound:
        return lower_bound(self.collective, topology, blocking=self.blocking, group=self.group, relays=self.relays)

    def _bound_any_chunks_on(self, topology: Topology) -> Bound:
        return bound_of_any_chunks(self.collective, topology, self.blocking, self.group, self.relays)

    @property
    def ranks(self) -> NDArray[np.int32]:
        """Topology rank of each collective rank (int32)."""
        return np.arange(self.topology.num_ranks, dtype=np.int32) if self.group is None else self.group

    @cached_property
    def alone(self) -> "Problem | None":
        """The same problem on the group alone, where nobody else takes part; None where everybody may."""
        if self.group is None or self.relays:
            return None
        return replace(self, topology=subset(self.topology, self.group), group=None, lanes=None)

    @property
    def without_relays(self) -> "Problem":
        """The same problem for the group alone, where nobody else takes part."""
        return replace(self, relays=False)

    def place(self, schedule: AnySchedule) -> Schedule:
        """A schedule of `alone` as one of this problem."""
        links = links_within(self.topology, self.ranks).astype(np.int32)
        spelled = schedule.expand()
        return replace(
            spelled,
            topology=self.topology,
            route_links=links[spelled.route_links],
            group=self.group,
        )

    @cached_property
    def routes(self) -> Routes:
        """The routes that may serve as links between ranks (`hocket.topology.rank_routes`); many on large switches."""
        reference_bytes = max(1, self.collective.largest_chunk_bytes)
        if self.lanes is None:
            return rank_routes(self.topology.graph, reference_bytes)
        return self.lanes.spread(rank_routes(self.lanes.whole.graph, reference_bytes))

    @cached_property
    def network(self) -> Network:
        """The routes as the engines see them, with the times of the largest chunk."""
        chunk_bytes = self.collective.largest_chunk_bytes
        return Network(self.topology.graph, self.routes.offset, self.routes.links, chunk_bytes, self.blocking)

    @cached_property
    def demanded(self) -> NDArray[np.int32]:
        """The chunks that are sent: chunk c of the demand is the collective's `demanded[c]`."""
        return np.flatnonzero(self.collective.sent).astype(np.int32)

    @cached_property
    def demand(self) -> Demand:
        """What a collective that sums nothing up asks for, in ranks of the topology."""
        collective, sent = self.collective, self.demanded
        table = RankSetTable(self.topology.num_ranks)
        # The times of the largest chunk are exact enough to choose by where sizes differ by a byte.
        everyone = np.full(len(sent), EVERYONE, np.int32)
        if self.relays:
            through = everyone
        else:
            through = collective.renumbered(everyone if self.through is None else self.through[sent], self.ranks, table)
        wanted = collective.renumbered(collective.destination[sent], self.ranks, table)
        return Demand(
            rank_sets(self.topology.num_ranks, table.sets),
            self.ranks[collective.origin[sent]],
            wanted,
            through,
            np.empty(0, np.int64) if collective.even else collective.chunk_bytes[sent],
            np.empty(0, np.int32) if self.priority is None else self.priority[sent],
        )

    @cached_property
    def mirrored(self) -> "Problem | None":
        """The problem whose schedules, run backwards (`hocket.schedule.reverse`), solve this one, if there is one."""
        image = mirror(self.collective)
        if image is None or image.reducing:
            return None
        if self.lanes is None:
            return replace(self, collective=image, topology=self.topology.reversed())
        lanes = self.lanes.reversed()
        return replace(self, collective=image, topology=lanes.topology, lanes=lanes)

    @cached_property
    def on_lanes(self) -> "Problem | None":
        """The same problem where trunks are parallel links, for engines whose links carry one transfer at a time; None
        where there are no trunks, or transfers keep links to themselves."""
        if self.blocking or not self.topology.has_trunks or (lanes := _lanes(self.topology)) is None:
            return None
        return replace(self, topology=lanes.topology, lanes=lanes)

    def cut(self, chunks: int) -> "Problem":
        """The same with another number of chunks per rank."""
        return replace(self, collective=replace(self.collective, chunks_per_rank=chunks))

    @property
    def has_halves(self) -> bool:
        """Whether there are chunks to sum up and chunks to spread: all_reduce, or conditions of both sorts."""
        return self.collective.reducing and self.collective.spreads

    @cached_property
    def central(self) -> list[int]:
        """The collective's ranks, those from which all others are near first. Raises Infeasible when some are out of
        reach."""
        out, into = (
            eccentricity_ps(graph, 0, self.ranks, self.ranks)
            for graph in (self.topology.graph, self.topology.reversed_graph)
        )
        order: list[int] = np.argsort(np.maximum(out, into), kind="stable").tolist()
        return order

    @cached_property
    def halves(self) -> tuple["Problem", "Problem"]:
        """The reduce_scatter and the all_gather of an all_reduce that goes in two halves, or what is like them for
        conditions."""
        return self._half(Kind.REDUCE_SCATTER), self._half(Kind.ALL_GATHER)

    def _half(self, kind: Kind) -> "Problem":
        collective = self.collective
        if collective.conditions is None:
            return replace(self, collective=replace(collective, kind=kind))
        half = collective.conditions.half(self.central, first=kind is Kind.REDUCE_SCATTER)
        return replace(self, collective=Collective.custom(collective.num_ranks, half))
