"""Barriers: everybody learns that everybody is there."""

from dataclasses import replace

from hocket.schedule import Chunk, Collective, Conditions, Kind
from hocket.synthesizer.portfolio import AUTO
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.supervision import Watch
from hocket.synthesizer.synthesis import Synthesized, solve

__all__ = ["BARRIER", "COLLECTIVES", "barrier", "solve_barrier"]

BARRIER = "barrier"
#: All that schedules are made of.
COLLECTIVES = (*map(str, Kind), BARRIER)


def barrier(num_ranks: int) -> Collective:
    """A word without bytes from each rank, combined over all of them: few messages."""
    everyone = range(num_ranks)
    return Collective.custom(num_ranks, Conditions.of(num_ranks, [Chunk(everyone, everyone, 0)]))


def solve_barrier(
    problem: Problem,
    search: Search,
    *,
    engine: str = AUTO,
    time_limit_s: float | None = None,
    watch: Watch | None = None,
) -> Synthesized:
    """The quicker of two ways: words are combined on their way (`barrier`: 2(n-1) messages), or everybody hears each of
    them (n(n-1) messages over the fewest hops). As `solve`; the problem's collective is a `barrier`."""
    everyone = range(problem.collective.num_ranks)
    words = Conditions.of(len(everyone), [Chunk([rank], everyone, 0) for rank in everyone])
    told = replace(problem, collective=Collective.custom(len(everyone), words))
    found = (solve(asked, search, engine=engine, time_limit_s=time_limit_s, watch=watch) for asked in (problem, told))
    return min(found, key=lambda each: each.schedule.time_ps)
