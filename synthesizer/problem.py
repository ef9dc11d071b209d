"""What is asked of an engine."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.synthesizer import Network
from hocket.core.errors import ScheduleError
from hocket.schedule import MIRROR, Bound, Collective, Kind, lower_bound
from hocket.topology import Routes, Topology, rank_routes

__all__ = ["Problem"]

_MIRRORED = {image: kind for kind, image in MIRROR.items()}


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective to be done on a topology, by the ranks of `group` (collective rank i is topology rank group[i];
    None: by all).

    `blocking`: a transfer holds its links for latency + serialization, as in TACOS, instead of serialization only.
    Raises ScheduleError when collective, group and topology do not fit together.
    """

    collective: Collective
    topology: Topology
    blocking: bool = False
    group: NDArray[np.int32] | None = None

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
        kind = _MIRRORED.get(self.collective.kind)
        if kind is None:
            return None
        return replace(self, collective=replace(self.collective, kind=kind), topology=self.topology.reversed())

    def cut(self, chunks: int) -> "Problem":
        """The same with another number of chunks a rank."""
        return replace(self, collective=replace(self.collective, chunks_per_rank=chunks))

    def half(self, kind: Kind) -> "Problem":
        """The reduce_scatter or all_gather of an all_reduce that goes in two halves."""
        return replace(self, collective=replace(self.collective, kind=kind))
