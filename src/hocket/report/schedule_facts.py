"""What the pages of synthesized schedules show, as the JSON of `hocket synthesize` has it."""

from contextlib import suppress
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.report.schedule_figures import arrivals
from hocket.schedule import Schedule, link_use_over_time, retime
from hocket.schedule.algorithms import build_all
from hocket.synthesizer import Synthesized
from hocket.topology import Topology
from hocket.topology.stored import LinksForm, TopologyForm, stored_links, stored_topology, topology_of

__all__ = [
    "GroupsFacts",
    "PictureFacts",
    "ScheduleFacts",
    "ScheduleNumbers",
    "WindowsFacts",
    "native_times",
    "picture_facts",
]

_FRAMES = 60
_WHOLE = 10**6
_COMPARED_DELIVERIES = 200_000  # larger schedules are not compared: it would take long and show little
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]
_Shares = list[Annotated[int, msgspec.Meta(ge=0, le=_WHOLE)]]


class ScheduleNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """`summarize`, but for what no page shows."""

    collective: str
    topology: str
    ranks: _Count
    size_bytes: _Count
    chunks_per_rank: _Count
    time_ps: _Count
    bound_ps: _Count
    bound_reason: str
    bound_any_chunks_ps: _Count
    bound_any_chunks_reason: str
    ratio: _Rate
    algbw_bytes_per_s: _Count
    busbw_bytes_per_s: _Count
    transfers: _Count
    link_utilization_mean: _Rate
    link_utilization_max: _Rate
    engine: str
    seed: int | None
    synthesis_seconds: _Rate


class LinkShares(msgspec.Struct, frozen=True):
    """How much of its bandwidth a link is held at in each part of the schedule's time, in millionths."""

    link: _Count
    ppm: _Shares


class PictureFacts(msgspec.Struct, frozen=True):
    """The topology, and what happens on it in equal parts of the schedule's time: of each link that is used how it is
    held; of each rank the share of its deliveries that it has at the end of each part, in millionths."""

    topology: TopologyForm
    links: LinksForm
    held: list[LinkShares]
    arrived_ppm: list[_Shares]

    def network(self) -> Topology:
        """Raises ValueError or HocketError where its parts do not fit each other."""
        return topology_of(self.topology, self.links)

    def shares(self) -> NDArray[np.float64]:
        """Links x parts."""
        share = np.zeros((len(self.links.src), len(self.arrived_ppm)))
        for each in self.held:
            share[each.link] = each.ppm
        return share / _WHOLE

    def arrived(self) -> NDArray[np.float64]:
        """Parts x ranks."""
        return np.array(self.arrived_ppm, np.float64).reshape(-1, len(self.topology.node_of_rank)) / _WHOLE


class ScheduleFacts(ScheduleNumbers, frozen=True, kw_only=True):
    """A schedule; `native_ps`: the times of native algorithms with the same chunks. Empty, or None, of one that is too
    large for it."""

    picture: PictureFacts | None
    native_ps: dict[str, _Count]


class GroupNumbers(ScheduleNumbers, frozen=True, kw_only=True):
    """One of several groups, and its ranks: `0-3,8`."""

    group: str


class GroupsFacts(ScheduleNumbers, frozen=True, kw_only=True):
    """All groups at once, and each."""

    picture: PictureFacts | None
    groups: Annotated[list[GroupNumbers], msgspec.Meta(min_length=1)]


class WindowNumbers(msgspec.Struct, frozen=True):
    """A schedule's file, and the sizes at which it is the quickest."""

    schedule: str
    min_bytes: _Count
    max_bytes: _Count
    sizes: Annotated[list[ScheduleNumbers], msgspec.Meta(min_length=1)]


class WindowsFacts(msgspec.Struct, frozen=True):
    """Of a range of sizes."""

    windows: Annotated[list[WindowNumbers], msgspec.Meta(min_length=1)]


def picture_facts(schedule: Schedule) -> PictureFacts:
    """What is drawn of a schedule."""
    share = link_use_over_time(schedule, _FRAMES)
    times = np.arange(1, _FRAMES + 1, dtype=np.float64) * (schedule.time_ps / _FRAMES)
    ppm = np.rint(share * _WHOLE).astype(np.int64)
    return PictureFacts(
        topology=stored_topology(schedule.topology),
        links=stored_links(schedule.topology),
        held=[LinkShares(link, ppm[link].tolist()) for link in np.flatnonzero(share.any(axis=1)).tolist()],
        arrived_ppm=np.rint(arrivals(schedule, times) * _WHOLE).astype(np.int64).tolist(),
    )


def native_times(one: Synthesized) -> dict[str, int]:
    """Of the native algorithms with the same chunks, timed on the same links."""
    collective, topology = one.schedule.collective, one.schedule.topology
    times: dict[str, int] = {}
    if collective.num_deliveries > _COMPARED_DELIVERIES:
        return times
    for native in build_all(collective, topology, one.schedule.expand().group):
        with suppress(ScheduleError):  # some exchange partial sums in a way that busy links reorder
            times[native.generator] = retime(native, one.schedule.blocking).time_ps
    return times
