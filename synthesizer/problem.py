"""What is asked of an engine."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.synthesizer import Demand, Network
from hocket.core.errors import ScheduleError
from hocket.schedule import EVERYONE, Bound, Collective, Kind, RankSetTable, lower_bound, mirror, rank_sets
from hocket.topology import Routes, Topology, rank_routes

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective to be done on a topology, by the ranks of `group` (collective rank i is topology rank group[i];
    None: by all).

    `blocking`: a transfer holds its links for latency + serialization, as in TACOS, instead of serialization only.
    `relays`: ranks outside the group may hold chunks on their way; else their links are not used. Raises ScheduleError
    when collective, group and topology do not fit together.
    """

    collective: Collective
    topology: Topology
    blocking: bool = False
    group: NDArray[np.int32] | None = None
    relays: bool = False

    def __post_init__(self) -> None:
        ranks = self.topology.num_ranks if self.group is None else len(self.group)
        if self.collective.num_ranks != ranks:
            raise ScheduleError(
                f"{self.collective.describe()} does not fit {self.topology.name} with its {ranks} ranks"
            )

    @cached_property
    def bound(self) -> Bound:
        """A time that no schedule beats."""
        return lower_bound(self.collective, self.topology, blocking=self.blocking, group=self.group)

    @cached_property
    def routes(self) -> Routes:
        """The routes that may serve as links between ranks (`hocket.topology.rank_routes`); many on large switches."""
        return rank_routes(self.topology.graph, max(1, int(self.collective.chunk_bytes.max())))

    @cached_property
    def network(self) -> Network:
        """The routes as the engines see them, with the times of the largest chunk."""
        chunk_bytes = int(self.collective.chunk_bytes.max())
        return Network(self.topology.graph, self.routes.offset, self.routes.links, chunk_bytes, self.blocking)

    @cached_property
    def mirrored(self) -> "Problem | None":
        """The problem whose schedules, run backwards (`hocket.schedule.reverse`), solve this one, if there is one."""
        image = mirror(self.collective)
        if image is None or image.reducing:
            return None
        return replace(self, collective=image, topology=self.topology.reversed())

    @property
    def ranks(self) -> NDArray[np.int32]:
        """Topology rank of each collective rank (int32)."""
        return np.arange(self.topology.num_ranks, dtype=np.int32) if self.group is None else self.group

    @cached_property
    def demanded(self) -> NDArray[np.int32]:
        """The chunks that are sent: chunk c of the demand is the collective's `demanded[c]`."""
        return np.flatnonzero(self.collective.sent).astype(np.int32)

    @cached_property
    def demand(self) -> Demand:
        """What a collective that sums nothing up asks for, in ranks of the topology."""
        collective, total = self.collective, self.topology.num_ranks
        table, ranks, sent = RankSetTable(total), self.ranks, self.collective.sent
        number = {EVERYONE: table.number(ranks)}
        for at, members in enumerate(collective.conditions.sets if collective.conditions is not None else ()):
            number[-2 - at] = table.number(ranks[list(members)])
        numbers, inverse = np.unique(collective.destination[sent], return_inverse=True)
        wanted = np.array([number.get(each, ranks[each]) for each in numbers.tolist()], np.int32)[inverse]
        through = np.full(len(wanted), EVERYONE if self.relays else number[EVERYONE], np.int32)
        # Chunks of even blocks differ by a byte at most: those times are exact enough to choose by.
        even = collective.block_bytes is None and collective.conditions is None
        sizes = np.empty(0, np.int64) if even else collective.chunk_bytes[sent]
        origin = ranks[collective.origin[sent]]
        return Demand(rank_sets(total, table.sets), origin, wanted, through, sizes, np.empty(0, np.int32))

    def cut(self, chunks: int) -> "Problem":
        """The same with another number of chunks a rank."""
        return replace(self, collective=replace(self.collective, chunks_per_rank=chunks))

    def half(self, kind: Kind) -> "Problem":
        """The reduce_scatter or all_gather of an all_reduce that goes in two halves."""
        return replace(self, collective=replace(self.collective, kind=kind))
