"""From a problem to a verified schedule."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.base.memory import peak_rss_bytes
from hocket.schedule import AnySchedule, Bound, Collective, VerifyReport, verify
from hocket.synthesizer.chunking import choose_chunks
from hocket.synthesizer.engines.balancing import ENOUGH_PERCENT, Balancing
from hocket.synthesizer.objective import Objective, aim, resize
from hocket.synthesizer.portfolio import AFFORDABLE_S, AUTO, AskedEngines, best_schedule, share_of_worth
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.supervision import Watch, supervise
from hocket.topology import Topology

__all__ = ["Synthesized", "solve", "synthesize"]

_BALANCING = Balancing()
_SECOND_LOOK_S = 1.0
# From this share of worth on (50 us) more than the trials of numbers of chunks is searched.
_WORTH_MORE = 0.05


@dataclass(frozen=True, eq=False)
class Synthesized:
    """A schedule with its bound, the bound of schedules of any number of chunks, what its verification found, the
    seconds that its search took (the choice of chunks and the engines' work, not the bound and the verification), and
    the most memory that the process had had when it was done: of a process that does nothing else, what the synthesis
    took."""

    schedule: AnySchedule
    bound_any_chunks: Bound
    report: VerifyReport
    seconds: float
    peak_rss_bytes: int

    @classmethod
    def of(cls, schedule: AnySchedule, problem: Problem, seconds: float) -> "Synthesized":
        """The schedule as an answer to the problem, whatever its chunks and size. Raises ScheduleError unless it
        verifies."""
        answered = replace(problem, collective=schedule.collective)
        bounds = [answered.bound, answered.bound_any_chunks]
        if schedule.bound is not None:  # an engine may have proved more
            bounds.append(schedule.bound)
        bound = max(bounds, key=lambda bound: bound.time_ps)
        bounded = replace(schedule, bound=bound)
        asked_so = schedule.collective.conditions is not None  # the chunks are part of what was asked for
        return cls(
            bounded, bound if asked_so else answered.bound_any_chunks, verify(bounded), seconds, peak_rss_bytes()
        )


def synthesize(
    collective: Collective,
    topology: Topology,
    *,
    engine: str = AUTO,
    seed: int = 0,
    attempts: int | None = None,
    blocking: bool = False,
    threads: int = 1,
    group: NDArray[np.int32] | None = None,
    relays: bool = False,
    time_limit_s: float | None = None,
) -> AnySchedule:
    """A verified, timed schedule of the collective for the topology, with its lower bound; the rest as in `solve`.

    `blocking`, `group` and `relays` as in Problem; `attempts`, `seed` and `threads` as in Search.
    """
    problem = Problem(collective, topology, blocking, group, relays)
    return solve(problem, Search(seed, threads, attempts), engine=engine, time_limit_s=time_limit_s).schedule


def solve(
    problem: Problem,
    search: Search,
    *,
    engine: str = AUTO,
    objective: Objective = Objective.AUTO,
    free_chunks: bool = False,
    time_limit_s: float | None = None,
    affordable_s: float = AFFORDABLE_S,
    watch: Watch | None = None,
) -> Synthesized:
    """A verified schedule with its bound.

    `engine` is one of `hocket.synthesizer.ENGINES`, `native:NAME` (that native algorithm alone), or `auto`: all that
    fit and are affordable, the native algorithms among them, until one is within 0.01 % of the lower bound; the
    quickest schedule wins. Affordable is what is estimated to take `affordable_s` seconds, or the time limit where that
    is more. What combines (reduce_scatter, reduce) is found backwards in time on the reversed topology,
    and all_reduce also as reduce_scatter, then all_gather. `free_chunks`: the problem's chunks per
    rank may be changed for the better.

    The same arguments give the same schedule on any machine and for any number of threads; only a `time_limit_s`
    (seconds for the search) and Ctrl-C, which end it with the best found so far, depend on the machine. `watch` is
    called with the search's progress about ten times a second while it goes on.

    Raises Infeasible when a rank cannot be reached, ScheduleError when no engine can do what is asked, Stopped when
    the search ended before anything was found.
    """
    if search.attempts is not None and search.attempts < 1:
        raise ScheduleError(f"attempts must be at least 1, got {search.attempts}")
    if time_limit_s is not None and not time_limit_s > 0:
        raise ScheduleError(f"the time limit must be more than 0 seconds, got {time_limit_s:g}")
    aimed = aim(problem, objective)
    supervise(lambda: aimed.bound, search.progress, watch=watch)
    affordable_s = affordable_s if time_limit_s is None else max(affordable_s, time_limit_s)

    def work() -> AnySchedule:
        tireless = replace(search, tireless=time_limit_s is not None)
        if not free_chunks:
            return best_schedule(aimed, tireless, engine, affordable_s)
        if time_limit_s is None and (quick := _quick_schedule(aimed, search, engine)) is not None:
            return quick
        choice = choose_chunks(aimed.cut, search, engine)
        chosen = aimed.cut(choice.schedule.collective.chunks_per_rank)
        share = share_of_worth(choice.schedule.time_ps) if time_limit_s is None else 1.0
        if share < _WORTH_MORE:
            return choice.schedule
        return best_schedule(
            chosen, tireless, engine, affordable_s * share, choice.schedule, AskedEngines(choice.engines)
        )

    begin = time.perf_counter()
    found = supervise(work, search.progress, time_limit_s=time_limit_s, watch=watch)
    seconds = time.perf_counter() - begin
    schedule = replace(resize(found, problem.collective.size_bytes), seed=search.seed)
    return Synthesized.of(schedule, problem, seconds)


def _quick_schedule(problem: Problem, search: Search, engine: str) -> AnySchedule | None:
    """Of an all_to_all of uneven blocks what planning gives at once, cut as the planner cuts it, or what engines find
    in a second more where that is not near the bound; None for others."""
    if engine not in (AUTO, _BALANCING.name) or _BALANCING.why_not(problem.alone or problem) is not None:
        return None
    cut = _BALANCING.cut(problem)
    schedule = best_schedule(cut, search, _BALANCING.name)
    if engine != AUTO or schedule.time_ps * 100 <= cut.bound_any_chunks.time_ps * ENOUGH_PERCENT:
        return schedule
    return best_schedule(cut, search, engine, _SECOND_LOOK_S, schedule)
