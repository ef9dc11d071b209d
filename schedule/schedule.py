"""An algorithm for a collective on a topology: timed transfers as columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.collective import Collective
from hocket.topology import Topology

__all__ = ["Bound", "Schedule"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A time that no schedule can beat: the largest of several arguments, and the name of the one that is it."""

    time_ps: int
    reason: str


@dataclass(frozen=True, eq=False)
class Schedule:
    """Transfers of chunks between ranks, sorted by (start_ps, route): structure of arrays, M transfers.

    `chunk` int32; `route` int32, an index into the routes; `reduce` bool: the receiver adds the chunk to what it holds
    instead of overwriting it. `start_ps`, `finish_ps` int64: the transfer occupies its route from start and the
    receiver may use the chunk from finish on. In an untimed schedule (`timed` false: a native algorithm before a
    model has timed it) they count logical steps instead.

    A route is a path of links from a rank to a rank (through switches, and in untimed schedules also through other
    ranks): route k is `route_links[route_offset[k]:route_offset[k+1]]` (int32 link ids), from rank `route_src[k]` to
    `route_dst[k]`.

    A transfer sends what its source holds at `start_ps`: it depends on every transfer of the same chunk into its
    source that finished by then. Nothing else is stored about dependencies; `hocket.schedule.dependencies` derives
    them. `blocking` says how long a transfer holds its links: latency + serialization (TACOS' model) or, if false,
    serialization only.
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

    @property
    def num_transfers(self) -> int:
        return len(self.chunk)

    @property
    def route_src(self) -> NDArray[np.int32]:
        """Rank each route leaves (int32, length routes)."""
        return self.topology.src[self.route_links[self.route_offset[:-1]]]

    @property
    def route_dst(self) -> NDArray[np.int32]:
        """Rank each route reaches (int32, length routes)."""
        return self.topology.dst[self.route_links[self.route_offset[1:] - 1]]

    @property
    def src(self) -> NDArray[np.int32]:
        """Sending rank of each transfer (int32, length M)."""
        return self.route_src[self.route]

    @property
    def dst(self) -> NDArray[np.int32]:
        """Receiving rank of each transfer (int32, length M)."""
        return self.route_dst[self.route]

    @property
    def time_ps(self) -> int:
        """When the last transfer is done, in picoseconds (steps when untimed); 0 for an empty schedule."""
        return int(self.finish_ps.max(initial=0))
