"""What a simulation found."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.simulator.packets import PacketTraffic
from hocket.simulator.workload import Workload
from hocket.topology import DEFAULT_ROUTING, Topology
from hocket.topology.routing_tables import has_several_paths

__all__ = ["CollectiveTime", "LinkUse", "Occupancy", "Prediction", "routing_words"]


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """One collective: from the first member's start over the last member's to the last member's end.

    `size_bytes` as in `Collective`; `bound_ps` is the time from a common start that no algorithm can beat; `latency_ps`
    what the algorithm takes alone without any bytes (None: not asked for).
    """

    kind: str
    group: tuple[int, ...]
    size_bytes: int
    algorithm: str
    start_ps: int
    ready_ps: int
    finish_ps: int
    bound_ps: int
    latency_ps: int | None = None

    @property
    def duration_ps(self) -> int:
        return self.finish_ps - self.start_ps

    @property
    def time_ps(self) -> int:
        """From the last member's start: without the wait for it."""
        return self.finish_ps - self.ready_ps

    @property
    def ratio(self) -> float:
        """Time over bound, 1.0 where there is no bound; below 1 where much was done before the last member came."""
        return _ratio(self.time_ps, self.bound_ps)

    @property
    def regime(self) -> str:
        """`latency` or `bandwidth`: which is the larger part of the time; empty where the latency is not known. Between
        them is the knee, where the time is twice the latency."""
        if self.latency_ps is None:
            return ""
        return "latency" if self.time_ps < 2 * self.latency_ps else "bandwidth"


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Columns: link `link` (int32) worked from `start_ps` to `finish_ps` (int64) on message `message` (int32) of
    collective instance `collective` (int32; -1: a message of its own)."""

    link: NDArray[np.int32]
    collective: NDArray[np.int32]
    message: NDArray[np.int32]
    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinkUse:
    """How busy each link is over time, exact: `busy_ps` (int64, links x bins) in bins of `bin_ps` from 0 on."""

    bin_ps: int
    busy_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """How long a workload takes on a topology under a model, next to what no schedule can beat.

    Per rank (int64 picoseconds, length ranks): `finish_ps`; `compute_ps`, the time it computes; `slowed_ps`, the part
    of that by which communication at the same time drew it out; `exposed_ps`, the time until its finish in which it
    does not compute. Per link (int64, length links): `link_busy_ps`, `link_bytes`,
    `link_messages`. Per node of the workload: `node_start_ps`, `node_finish_ps`; `node_cause` (int32), the node whose
    start its finish goes back to without a wait: itself, but for a part in a collective that waited for another
    member, and for a receive that waited for its send. `time_ps` is when all is done and `bound_ps` what bounds it from
    below. `routing` is None where schedules name all routes. `occupancy` and `link_use` are there when they were asked
    for. `events` counts message-hops and computations of what was simulated. `folded` is how many ranks each rank that
    was simulated stands for in a collective; of a job the workload says that (`Workload.replicas`): its nodes and
    collectives are those of the ranks that are left, columns over ranks and links those of all.
    `assumed` says, in sentences, what the prediction takes for granted of the
    machine and its software. `message_launch_ps` is how long each message took to begin (int64; None: no time).
    `packets` is what happened to packets (None but for model packet).
    """

    model: str
    switching: str
    queueing: str
    routing: str | None
    topology: Topology
    workload: Workload
    time_ps: int
    bound_ps: int
    finish_ps: NDArray[np.int64]
    compute_ps: NDArray[np.int64]
    collectives: tuple[CollectiveTime, ...]
    link_busy_ps: NDArray[np.int64]
    link_bytes: NDArray[np.int64]
    link_messages: NDArray[np.int64]
    node_start_ps: NDArray[np.int64]
    node_finish_ps: NDArray[np.int64]
    node_cause: NDArray[np.int32]
    slowed_ps: NDArray[np.int64]
    occupancy: Occupancy | None
    link_use: LinkUse | None
    events: int
    folded: int
    notes: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    message_launch_ps: NDArray[np.int64] | None = None
    packets: PacketTraffic | None = None

    def headline(self) -> str:
        """The prediction in one short line."""
        return f"{format_time(self.time_ps)} on {self.topology.name}, {self.ratio:.3f} times the bound"

    def __repr__(self) -> str:
        return f"<Prediction: {self.headline()}, model {self.model}>"

    @cached_property
    def routing_words(self) -> str:
        """Which paths messages took; empty where none had a choice."""
        return routing_words(self.routing, self.topology)

    @property
    def exposed_ps(self) -> NDArray[np.int64]:
        return self.finish_ps - self.compute_ps

    @property
    def ratio(self) -> float:
        """Time over bound; 1.0 where there is no bound."""
        return _ratio(self.time_ps, self.bound_ps)

    @property
    def below_bound(self) -> bool:
        """Whether the time is not physical: links were shared for free."""
        return self.time_ps < self.bound_ps or any(c.duration_ps < c.bound_ps for c in self.collectives)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the result untrustworthy, in sentences."""
        none_left = (
            "NO COMMUNICATION IS LEFT THAT USES LINKS: the import lost all collectives and messages",
        ) * self.workload.lost_all
        lost = (*none_left, *self.workload.lost)
        if not self.below_bound:
            return lost
        return (
            *lost,
            f"NOT PHYSICAL: {format_time(self.time_ps)} (bound {format_time(self.bound_ps)}): something is faster than"
            f" any schedule can be, because {self._because}",
        )

    @property
    def _because(self) -> str:
        if self.model == "uncontended":
            return f"model {self.model} shares links for free; use model analytical or congestion"
        return "collectives take the time of a model, which knows other links; simulate them"

    @cached_property
    def link_utilisation(self) -> NDArray[np.float64]:
        """Busy time of each link over the whole time; above 1 where a model shares links for free."""
        return self.link_busy_ps / max(self.time_ps, 1)


def routing_words(routing: str | None, topology: Topology) -> str:
    """`Prediction.routing_words` of a routing (None: routes of a schedule)."""
    if routing is None:
        return "routes of the schedule"
    return f"routing {routing}" * (routing != DEFAULT_ROUTING or has_several_paths(topology))


def _ratio(time_ps: int, bound_ps: int) -> float:
    return time_ps / bound_ps if bound_ps else 1.0
