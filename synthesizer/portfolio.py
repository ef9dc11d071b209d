"""The engines at work: which of them, for how long, and the best of what they find."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import ScheduleError, Stopped
from hocket.schedule import Collective, Schedule, verify
from hocket.synthesizer.attendance import attend
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.engines import ENGINES
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search, Stop
from hocket.synthesizer.ways import ways
from hocket.topology import Topology

__all__ = ["AUTO", "best_schedule", "synthesize"]

AUTO = "auto"
# The search ends at this much of the lower bound, in millionths.
_GOOD_ENOUGH = 1_000_100
# `auto` asks no engine that would need more seconds, unless it is given more time.
_AFFORDABLE_S = 30.0


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
    time_limit_s: float | None = None,
    watch: Callable[[Stop], None] | None = None,
) -> Schedule:
    """A verified, timed schedule of the collective for the topology, with its lower bound.

    `engine` is one of `hocket.synthesizer.ENGINES`, or `auto`: all that fit and are affordable, the native algorithms
    among them, until one is within 0.01 % of the lower bound; the quickest schedule wins. What combines
    (reduce_scatter, reduce) is found backwards in time on the reversed topology, and all_reduce also as
    reduce_scatter, then all_gather.

    `attempts` bounds each engine's search (None: as many as the size is worth). `blocking` and `group` as in Problem.
    The same arguments give the same schedule on any machine and for any number of `threads`; only a `time_limit_s`
    (seconds for the search) and Ctrl-C, which end it with the best found so far, depend on the machine. `watch` is
    called about ten times a second while the search goes on.

    Raises Infeasible when a rank cannot be reached, ScheduleError when collective and topology do not fit together or
    no engine can do what is asked, Stopped when the search ended before anything was found.
    """
    if attempts is not None and attempts < 1:
        raise ScheduleError(f"attempts must be at least 1, got {attempts}")
    if time_limit_s is not None and not time_limit_s > 0:
        raise ScheduleError(f"the time limit must be more than 0 seconds, got {time_limit_s}")
    problem = Problem(collective, topology, blocking, group)
    search = Search(seed, threads, attempts, problem.bound.time_ps * _GOOD_ENOUGH // 10**6)
    affordable_s = _AFFORDABLE_S if time_limit_s is None else max(_AFFORDABLE_S, time_limit_s)
    found = attend(
        lambda: best_schedule(problem, search, engine, affordable_s),
        search.stop,
        time_limit_s=time_limit_s,
        watch=watch,
    )
    schedule = replace(found, bound=problem.bound, seed=seed)
    verify(schedule)
    return schedule


def best_schedule(
    problem: Problem, search: Search, engine: str = AUTO, affordable_s: float = _AFFORDABLE_S
) -> Schedule:
    """What `synthesize` does, neither verified nor compared with a bound."""
    best: Schedule | None = None
    try:
        for way in _choose(problem, engine, affordable_s):
            for schedule in way.solve(problem, search):
                if best is None or schedule.time_ps < best.time_ps:
                    best = schedule
            if best is not None and best.time_ps <= search.target_ps:
                break
    except Stopped:
        if best is None:
            raise
    if best is None:
        raise ScheduleError(f"no engine does {problem.collective.describe()} on {problem.topology.name}")
    return best


def _choose(problem: Problem, engine: str, affordable_s: float) -> Iterator[Engine]:
    """The ways to try, in order."""
    if engine != AUTO:
        able, reason = ways(ENGINES[engine], problem)
        if not able:
            raise ScheduleError(f"the engine `{engine}` cannot do {problem.collective.describe()}: {reason}")
        yield from able
        return
    able = [way for candidate in ENGINES.values() for way in ways(candidate, problem)[0]]
    affordable = [way for way in able if way.seconds(problem) <= affordable_s]
    # Where nothing is affordable, what is nearest to it.
    yield from affordable or sorted(able, key=lambda way: way.seconds(problem))[:1]
