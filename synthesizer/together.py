"""Several collectives at once on shared links: one search for all of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hocket.base.errors import ScheduleError, Stopped
from hocket.schedule import Joint, Schedule, lower_bound, retime
from hocket.synthesizer.chunking import choose_chunks
from hocket.synthesizer.portfolio import AUTO, good_enough_ps
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Progress, Search
from hocket.synthesizer.supervision import Watch, supervise
from hocket.synthesizer.synthesis import Synthesized, solve
from hocket.topology import links_within

__all__ = ["Together", "join", "solve_together"]


_Solve = Callable[..., Synthesized]


@dataclass(frozen=True, eq=False)
class Together:
    """What was found for each of the problems, all on one timeline, and for all as one custom collective."""

    parts: tuple[Synthesized, ...]
    whole: Synthesized


def join(problems: Sequence[Problem], priorities: Sequence[int] | None = None) -> tuple[Joint, Problem]:
    """All problems as one, in which each chunk stays among the ranks of its own unless there are relays.

    Chunks of a problem of a lower priority number go first (None: all alike). Raises ScheduleError when the problems
    differ in topology, blocking or relays.
    """
    first = problems[0]
    for other in problems:
        if other.topology is not first.topology or (other.blocking, other.relays) != (first.blocking, first.relays):
            raise ScheduleError("collectives at once must be on one topology, and agree on blocking and relays")
    joint = Joint.of([problem.collective for problem in problems], [problem.ranks for problem in problems])
    whole = Problem(
        joint.collective,
        first.topology,
        first.blocking,
        joint.ranks,
        first.relays,
        joint.members,
        None if priorities is None else np.array(priorities, np.int32)[joint.part],
    )
    return joint, whole


def solve_together(
    problems: Sequence[Problem],
    search: Search,
    *,
    priorities: Sequence[int] | None = None,
    alone: _Solve = solve,
    engine: str = AUTO,
    free_chunks: bool = False,
    time_limit_s: float | None = None,
    watch: Watch | None = None,
) -> Together:
    """Schedules of collectives that start at once on one topology, such that no link carries more than its bandwidth.

    The better of two: each searched alone, by all engines, and then put on the links together (`_one_by_one`); and one
    search that sees them as one (`join`), with as many chunks per rank for all. Those that share no link are only
    searched alone. Better is what ends first, of the lowest priority number before the others.

    `alone` solves one of them (`solve`, or `solve_barrier`). `time_limit_s` is for each search, the rest as in `solve`;
    Ctrl-C ends them with the best found so far.
    """
    solver = _Solver(search, engine, time_limit_s, watch)
    way = partial(solve, free_chunks=True) if free_chunks else alone
    found = [_one_by_one(problems, priorities, way, solver)]
    if not (_apart(problems) or solver.interrupted or found[0].whole.schedule.time_ps <= _enough_ps(found[0])):
        with suppress(Stopped, ScheduleError):  # as an engine says that cannot do it at once
            found.append(_at_once(problems, priorities, free_chunks, solver))
    return min(found, key=lambda one: _ends(one, priorities))


@dataclass
class _Solver:
    """Solves one problem after another, each with a clock of its own."""

    search: Search
    engine: str
    time_limit_s: float | None
    watch: Watch | None
    interrupted: bool = False

    def solve(self, problem: Problem, way: _Solve = solve) -> Synthesized:
        search = self.fresh()
        try:
            return way(problem, search, engine=self.engine, time_limit_s=self.time_limit_s, watch=self.watch)
        finally:
            self.interrupted |= search.progress.interrupted

    def fresh(self) -> Search:
        return replace(self.search, progress=Progress())


def _one_by_one(
    problems: Sequence[Problem], priorities: Sequence[int] | None, way: _Solve, solver: _Solver
) -> Together:
    """Each solved alone; where they want a link at the same time, who would have started first goes first, or who has
    the lower priority number."""
    alone = [solver.solve(problem, way) for problem in problems]
    cut = [replace(each, collective=one.schedule.collective) for each, one in zip(problems, alone, strict=True)]
    joint, problem = join(cut, priorities)
    spelled = [one.schedule.expand() for one in alone]
    if priorities is not None:
        longest_ps = max(schedule.time_ps for schedule in spelled)
        spelled = [_later(one, rank * longest_ps) for one, rank in zip(spelled, _ranked(priorities), strict=True)]
    schedule = retime(joint.join(spelled), problem.blocking)
    return _parted(joint, cut, Synthesized.of(schedule, problem, sum(one.seconds for one in alone)))


def _at_once(
    problems: Sequence[Problem], priorities: Sequence[int] | None, free_chunks: bool, solver: _Solver
) -> Together:
    """All searched as one."""
    chunks = _choose(problems, priorities, solver) if free_chunks else None
    cut = problems if chunks is None else [problem.cut(chunks) for problem in problems]
    joint, problem = join(cut, priorities)
    return _parted(joint, cut, solver.solve(problem))


def _parted(joint: Joint, problems: Sequence[Problem], whole: Synthesized) -> Together:
    split = zip(joint.split(whole.schedule.expand()), problems, strict=True)
    parts = tuple(Synthesized.of(part, own, whole.seconds) for part, own in split)
    # none ends before it could alone
    bounds = [one.schedule.bound for one in (whole, *parts) if one.schedule.bound is not None]
    bound = max(bounds, key=lambda each: each.time_ps)
    first, ranks = problems[0], joint.ranks
    flow = lower_bound(joint.collective, first.topology, group=ranks, relays=first.relays, split=True)
    of_any_chunks = max((flow, *(one.bound_any_chunks for one in parts)), key=lambda each: each.time_ps)
    schedule = replace(whole.schedule, bound=max(bound, of_any_chunks, key=lambda each: each.time_ps))
    return Together(parts, replace(whole, schedule=schedule, bound_any_chunks=of_any_chunks))


def _later(schedule: Schedule, by_ps: int) -> Schedule:
    return replace(schedule, start_ps=schedule.start_ps + by_ps, finish_ps=schedule.finish_ps + by_ps)


def _ranked(priorities: Sequence[int]) -> list[int]:
    """0 for the lowest number, 1 for the next, ..."""
    order = sorted(set(priorities))
    return [order.index(priority) for priority in priorities]


def _ends(found: Together, priorities: Sequence[int] | None) -> list[int]:
    """When all are done of each priority, the lowest number first."""
    ends = [part.schedule.time_ps for part in found.parts]
    levels = [0] * len(ends) if priorities is None else _ranked(priorities)
    return [max(end for end, at in zip(ends, levels, strict=True) if at == level) for level in sorted(set(levels))]


def _enough_ps(found: Together) -> int:
    bound = found.whole.schedule.bound
    return 0 if bound is None else good_enough_ps(bound)


def _apart(problems: Sequence[Problem]) -> bool:
    """Whether no two can use the same link."""
    if any(problem.relays for problem in problems):
        return False
    used = np.concatenate([links_within(problem.topology, problem.ranks) for problem in problems])
    return len(np.unique(used)) == len(used)


def _choose(problems: Sequence[Problem], priorities: Sequence[int] | None, solver: _Solver) -> int:
    """Chunks per rank for all of them."""
    counts: dict[int, int] = {}

    def cut(chunks: int) -> Problem:
        _, problem = join([each.cut(chunks) for each in problems], priorities)
        counts[problem.collective.num_chunks] = chunks
        return problem

    search = solver.fresh()
    found = supervise(
        lambda: choose_chunks(cut, search, solver.engine),
        search.progress,
        time_limit_s=solver.time_limit_s,
        watch=solver.watch,
    )
    solver.interrupted |= search.progress.interrupted
    return counts[found.schedule.collective.num_chunks]
