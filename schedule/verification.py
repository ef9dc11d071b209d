"""The checker: does a schedule do what its collective asks for, on its topology?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core import schedule as engine
from hocket.base.errors import ScheduleError
from hocket.base.units import format_bytes, format_time
from hocket.schedule.folded import AnySchedule, FoldedSchedule, Phase
from hocket.schedule.schedule import Schedule

__all__ = ["VerifyReport", "verify"]


@dataclass(frozen=True, eq=False)
class VerifyReport:
    """What was verified. `wire_bytes`: bytes over all links together. `link_busy_ps` (int64, length links): how long
    the schedule holds each link. `time_ps`: picoseconds, or steps of an untimed schedule."""

    num_transfers: int
    time_ps: int
    timed: bool
    wire_bytes: int
    link_busy_ps: NDArray[np.int64]

    def describe(self) -> str:
        """One sentence for people."""
        time = format_time(self.time_ps) if self.timed else f"{self.time_ps} steps"
        return f"{self.num_transfers} transfers, {format_bytes(self.wire_bytes)} on the wire, {time}"


def verify(schedule: AnySchedule) -> VerifyReport:
    """Replays the schedule and checks it, a folded one without spelling it out. Raises ScheduleError naming the first
    violation of:

    - every route is a path of existing links between ranks of the group (or relays);
    - a timed transfer lasts at least latency + serialization, and no link carries more than its bandwidth
      (`schedule.blocking` says how long a transfer holds its links; untimed steps may share links);
    - a rank holds a chunk when it sends it (a transfer sends what its source holds at its start, a delivery counts
      from its finish on, deliveries at an instant before sends at that instant), and contributes to a chunk when it
      sends its own contribution;
    - no contribution is added twice, and at the end every chunk is, with each contribution exactly once, where the
      collective wants it;
    - the time is not below the schedule's own bound;
    - of a folded schedule: the topology has its symmetry, each link that it uses has as many images as there are
      elements, and no chunk gets to a rank a second time.
    """
    report = _verify_folded(schedule) if isinstance(schedule, FoldedSchedule) else _verify_columns(schedule)
    if schedule.bound is not None and report.timed and report.time_ps < schedule.bound.time_ps:
        raise ScheduleError(
            f"takes {report.time_ps} ps, less than its lower bound {schedule.bound.time_ps} ps "
            f"({schedule.bound.reason}): the bound is not one of this schedule"
        )
    return report


def _verify_columns(schedule: Schedule) -> VerifyReport:
    collective, ranks = schedule.collective, schedule.ranks
    if len(ranks) != collective.num_ranks or len(np.unique(ranks)) != len(ranks):
        raise ScheduleError(f"the group must list {collective.num_ranks} different ranks, got {ranks.tolist()}")
    if ranks.min() < 0 or ranks.max() >= schedule.topology.num_ranks:
        raise ScheduleError(f"the group {ranks.tolist()} leaves the topology's {schedule.topology.num_ranks} ranks")
    link_busy_ps = engine.verify(
        schedule.transfers,
        ranks,
        schedule.relay_nodes,
        collective.sets,
        collective.origin,
        collective.destination,
        collective.chunk_bytes,
        collective.sent,
        schedule.timed,
        schedule.blocking,
    )
    hops = np.diff(schedule.route_offset)[schedule.route]
    return VerifyReport(
        num_transfers=schedule.num_transfers,
        time_ps=schedule.time_ps,
        timed=schedule.timed,
        wire_bytes=int((collective.chunk_bytes[schedule.chunk] * hops).sum()),
        link_busy_ps=link_busy_ps,
    )


def _verify_folded(schedule: FoldedSchedule) -> VerifyReport:
    links = schedule.links
    busy_ps, time_ps, wire_bytes = np.zeros(schedule.topology.num_links, np.int64), 0, 0
    for phase in schedule.phases:
        if not links.frees(phase.route_links):
            raise ScheduleError("images of a transfer share a link: it has less images than the symmetry has elements")
        checker = _checker(schedule, phase)
        for block in phase.transfers.blocks():
            checker.take(block.start_ps, block.route, block.chunk)
        busy_ps += checker.finish()
        time_ps += checker.time_ps
        wire_bytes += checker.num_hops * schedule.symmetry.order * schedule.chunk_bytes
    if time_ps != schedule.time_ps:
        raise ScheduleError(f"takes {time_ps} ps, not {schedule.time_ps} ps as it says")
    return VerifyReport(schedule.num_transfers, time_ps, True, wire_bytes, busy_ps[links.first])


def _checker(schedule: FoldedSchedule, phase: Phase) -> engine.FoldedChecker:
    collective, symmetry = schedule.collective, schedule.symmetry
    spread = engine.Spread.FROM_EACH
    if collective.rooted:
        spread = engine.Spread.FROM_ROOT
    elif collective.kind.in_pairs:
        spread = engine.Spread.EACH_TO_EACH
    return engine.FoldedChecker(
        schedule.topology.graph,
        phase.route_offset,
        phase.route_links,
        schedule.links.first,
        list(symmetry.sizes),
        [engine.Motion[motion.name] for motion in symmetry.motions],
        spread,
        collective.chunks_per_rank,
        collective.root,
        collective.num_chunks,
        schedule.chunk_bytes,
        schedule.blocking,
        phase.mirrored,
    )
