"""The engines at work: which of them, for how long, and the best of what they find."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hocket.base.errors import Infeasible, ScheduleError, Stopped
from hocket.schedule import AnySchedule, Bound
from hocket.synthesizer.derived_engines import derived_engines
from hocket.synthesizer.engine import Engine, NamedEngine
from hocket.synthesizer.engines import ENGINES, engine_named, engine_names
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.resources import require_memory, require_patience, require_routes, why_not_spelled_out
from hocket.synthesizer.search import Search
from hocket.synthesizer.time_reversal import Halves

__all__ = [
    "AFFORDABLE_S",
    "AUTO",
    "AskedEngines",
    "best_schedule",
    "cheapest_s",
    "choices",
    "good_enough_ps",
    "share_of_worth",
    "worth_s",
]

AUTO = "auto"
# `auto` asks no engine that would need more seconds, unless it is given more time.
AFFORDABLE_S = 10.0
# The search ends at this much of the lower bound, in millionths.
_GOOD_ENOUGH = 1_000_100
# From this part of the bound on a gain is worth all the time that is affordable.
_LARGE_GAIN = 0.2
# Engines that cost no more are asked even where what was found is said to be enough.
_MOMENT_S = 0.1
# Collectives that take a millisecond are worth all of it, quicker ones a part.
_LONG_PS = 10**9


@dataclass
class AskedEngines:
    """Which of the engines' ways take part in a search (None: all), and to what time (ps) each of those that found
    anything came."""

    among: frozenset[Engine] | None = None
    times: dict[Engine, int] = field(default_factory=dict)


def choices() -> tuple[str, ...]:
    """All that `engine` may be."""
    return (AUTO, *engine_names())


def best_schedule(
    problem: Problem,
    search: Search,
    engine: str = AUTO,
    affordable_s: float = AFFORDABLE_S,
    best: AnySchedule | None = None,
    asked_engines: AskedEngines | None = None,
) -> AnySchedule:
    """The quickest schedule that the engines find, or `best`, which is known already; neither verified nor compared
    with a bound.

    Ends early within 0.01 % of the problem's bound or at the search's own target, and, with what was found so far, when
    asked to stop; `auto` asks no engine that would take longer than what could be gained is worth. `asked_engines` says
    who takes part, and learns who came how far. Raises ScheduleError where no engine can do what is asked, Infeasible
    where none could, and Stopped when there was no time to find anything.
    """
    if problem.alone is not None:
        return problem.place(best_schedule(problem.alone, search, engine, affordable_s, None, asked_engines))
    if problem.relays and best is None:
        with suppress(Infeasible, ScheduleError):
            best = best_schedule(problem.without_relays, search, engine, affordable_s)
    asked_engines = AskedEngines() if asked_engines is None else asked_engines
    require_routes(problem, search)
    progress = search.progress
    progress.bound_ps, progress.best_ps = problem.bound.time_ps, None if best is None else best.time_ps
    progress.chunks_per_rank, progress.found = problem.collective.chunks_per_rank, progress.found or best is not None
    search = replace(search, target_ps=max(search.target_ps, good_enough_ps(problem.bound)))
    if best is not None and best.time_ps <= search.target_ps:
        return best
    enough_ps: int | None = None
    try:
        for way in _choose(problem, engine, affordable_s, search):
            if asked_engines.among is not None and way not in asked_engines.among:
                continue
            worth = math.inf if best is None or engine != AUTO else worth_s(best, problem, affordable_s)
            if enough_ps is not None and best is not None and best.time_ps <= enough_ps and not search.tireless:
                worth = min(worth, _MOMENT_S)
            if way.seconds(problem) > worth:
                continue
            if not engine_named(way.name).folds:
                require_memory(problem)
            progress.engine = way.name
            percent = engine_named(way.name).enough_percent
            enough_ps = enough_ps if percent is None else problem.bound.time_ps * percent // 100
            for schedule in way.solve(problem, search):
                asked_engines.times[way] = min(schedule.time_ps, asked_engines.times.get(way, schedule.time_ps))
                if best is None or (schedule.time_ps, -_proved_ps(schedule)) < (best.time_ps, -_proved_ps(best)):
                    best, progress.best_ps, progress.found = schedule, schedule.time_ps, True
            if best is not None and (best.time_ps <= search.target_ps or search.stop.asked):
                break
    except Stopped:
        if best is None:
            raise
    if best is None:
        raise ScheduleError(f"no engine does {problem.collective.describe()} on {problem.topology.name}")
    return best


def good_enough_ps(bound: Bound) -> int:
    """At which a search ends."""
    return bound.time_ps * _GOOD_ENOUGH // 10**6


def worth_s(best: AnySchedule, problem: Problem, affordable_s: float) -> float:
    """The seconds that are worth looking for a better schedule: all that are affordable while a fifth of the bound or
    more could be gained, in proportion below. The gain, not the time, decides when an answer is good enough."""
    possible = (best.time_ps - problem.bound.time_ps) / max(1, problem.bound.time_ps)
    return affordable_s * min(1.0, possible / _LARGE_GAIN)


def share_of_worth(time_ps: int) -> float:
    """The part of the usual seconds that a search with free chunks is worth for a collective that takes so long: of
    microseconds a per cent is less than what any model of links leaves out."""
    return min(1.0, time_ps / _LONG_PS)


def _proved_ps(schedule: AnySchedule) -> int:
    return 0 if schedule.bound is None else schedule.bound.time_ps


def cheapest_s(problem: Problem, engine: str = AUTO) -> float:
    """Seconds that the quickest engine takes, roughly and on any machine the same; infinite where none can."""
    engines = ENGINES.values() if engine == AUTO else [engine_named(engine)]
    asked = problem.alone or problem
    return min((way.seconds(asked) for one in engines for way in _fitting(one, asked)[0]), default=math.inf)


def _choose(problem: Problem, engine: str, affordable_s: float, search: Search) -> Iterator[Engine]:
    """The ways to try, in order; when engines are to be tireless, those that can be come last."""
    if engine != AUTO:
        able, reason = _fitting(engine_named(engine), problem)
        if not able:
            raise ScheduleError(f"the engine `{engine}` cannot do {problem.collective.describe()}: {reason}")
        require_patience(problem, min(able, key=lambda way: way.seconds(problem)), search)
        yield from able
        return
    nearest: tuple[float, Engine] | None = None
    for way in _able(problem, search.tireless):
        seconds = way.seconds(problem)
        if seconds <= affordable_s:
            yield way
            nearest = (0.0, way)
        elif seconds < (math.inf if nearest is None else nearest[0]):
            nearest = (seconds, way)
    if nearest is None and (too_many := why_not_spelled_out(problem)) is not None:
        raise ScheduleError(f"{problem.collective.describe()} on {problem.topology.name}: {too_many}")
    if nearest is not None and nearest[0] > affordable_s:  # where nothing is affordable, what is nearest to it
        require_patience(problem, nearest[1], search)
        yield nearest[1]


def _able(problem: Problem, tireless: bool) -> Iterator[Engine]:
    """All ways; halves later, since what does it at once is quicker to find, and often better."""
    for at_last in (False, True) if tireless else (False,):
        engines = [one for one in ENGINES.values() if (tireless and one.tireless) == at_last]
        for halved in (False, True):
            for candidate in engines:
                yield from (way for way in _fitting(candidate, problem)[0] if isinstance(way, Halves) == halved)


def _fitting(engine: NamedEngine, problem: Problem) -> tuple[list[Engine], str]:
    """The ways of an engine (`derived_engines`) whose schedules fit in memory, and why there are none if so."""
    reason = None if engine.folds else why_not_spelled_out(problem)
    return derived_engines(engine, problem) if reason is None else ([], reason)
