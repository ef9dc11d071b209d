"""Trunks that carry several transfers at once, for engines whose links carry one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hocket.base.errors import ScheduleError
from hocket.schedule import AnySchedule, Schedule, retime
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Lanes

__all__ = ["OnLanes"]


@dataclass(frozen=True)
class OnLanes:
    """The engine on the topology whose trunks are parallel links (`hocket.topology.Lanes`)."""

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        if problem.on_lanes is None:
            return f"{problem.topology.name} has no trunks"
        return self.engine.why_not(problem.on_lanes)

    def seconds(self, problem: Problem) -> float:
        return self.engine.seconds(problem.on_lanes) if problem.on_lanes is not None else 0

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        on_lanes = problem.on_lanes
        if on_lanes is None or on_lanes.lanes is None:
            return
        quickest: int | None = None
        for schedule in self.engine.solve(on_lanes, search):
            merged = _merged(schedule, problem, on_lanes.lanes)
            if quickest is None or merged.time_ps < quickest:
                quickest = merged.time_ps
                yield merged


def _merged(schedule: AnySchedule, problem: Problem, lanes: Lanes) -> Schedule:
    """The schedule on the topology as it is, where transfers need not wait for their own lane. What was proved of the
    lanes is not proved of the trunks."""
    spelled = schedule.expand()
    merged = replace(spelled, topology=problem.topology, route_links=lanes.link[spelled.route_links], bound=None)
    try:
        return min(merged, retime(merged), key=lambda timed: timed.time_ps)
    except ScheduleError:  # sums would come in another order
        return merged
