"""A collective backwards in time, or in two halves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hocket.base.errors import Stopped
from hocket.schedule import AnySchedule, concatenate, reverse
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Halves", "TimeReversed", "best_half"]

# A rule of thumb, no proof: halves overlap in part of their latencies only, so they are not tried where a known
# schedule would be quicker than the sum of their bounds even if it took so much (in percent).
_OVERLAP = 125


@dataclass(frozen=True)
class TimeReversed:
    """Summing up is spreading on the reversed topology, run backwards in time; gather is scatter so."""

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        if problem.mirrored is None:
            return f"{problem.collective.kind} has no mirror image in time"
        return self.engine.why_not(problem.mirrored)

    def seconds(self, problem: Problem) -> float:
        return self.engine.seconds(problem.mirrored) if problem.mirrored is not None else 0

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        if problem.mirrored is not None:
            for schedule in self.engine.solve(problem.mirrored, search):
                yield replace(reverse(schedule), topology=problem.topology)


@dataclass(frozen=True)
class Halves:
    """all_reduce as reduce_scatter, then all_gather (for conditions: what is like it); each link goes on to its second
    part as soon as it is done with the first."""

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        if not problem.has_halves:
            return f"{problem.collective.kind} does not fall into two halves"
        return self.engine.why_not(problem.halves[1])

    def seconds(self, problem: Problem) -> float:
        return 2 * self.engine.seconds(problem.halves[1])

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        halves, best_ps = problem.halves, search.progress.best_ps
        if best_ps is not None and best_ps * _OVERLAP < sum(half.bound.time_ps for half in halves) * 100:
            return
        search = replace(search, target_ps=search.target_ps // 2, tireless=False)
        first, second = (best_half(self.engine, half, search) for half in halves)
        if first is None or second is None:
            return
        generator = "+".join(dict.fromkeys([first.generator, second.generator]))
        yield replace(concatenate(first, second, problem.collective), generator=generator)


def best_half(engine: Engine, problem: Problem, search: Search) -> AnySchedule | None:
    """The quickest that the engine finds for one half, straight or mirrored, until it is asked to stop."""
    way = engine if engine.why_not(problem) is None else TimeReversed(engine)
    best: AnySchedule | None = None
    try:
        for schedule in way.solve(problem, search):
            best = schedule  # each is quicker than those before it
    except Stopped:
        if best is None:
            raise
    return best
