"""Several collectives at once on shared links: one search for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hocket.core.errors import ScheduleError
from hocket.schedule import Joint
from hocket.synthesizer.attendance import Watch
from hocket.synthesizer.chunking import choose_chunks
from hocket.synthesizer.portfolio import AUTO
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.synthesis import Synthesis, solve
from hocket.topology import links_within

__all__ = ["Together", "join", "solve_together"]


@dataclass(frozen=True, eq=False)
class Together:
    """What was found for each of the problems, all on one timeline, and for all as one custom collective."""

    parts: tuple[Synthesis, ...]
    whole: Synthesis


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
        None if first.relays else joint.members,
        None if priorities is None else np.array(priorities, np.int32)[joint.part],
    )
    return joint, whole


def solve_together(
    problems: Sequence[Problem],
    search: Search,
    *,
    priorities: Sequence[int] | None = None,
    engine: str = AUTO,
    free_chunks: bool = False,
    time_limit_s: float | None = None,
    watch: Watch | None = None,
) -> Together:
    """Schedules of collectives that start at once on one topology, such that no link is held by two at a time.

    Those that can share no link are solved one by one. Else the search sees them as one (`join`), with as many chunks
    per rank for all, and ends when the last of them is done early enough; `solve` says the rest.
    """
    if _apart(problems):
        alone = [
            solve(each, search, engine=engine, free_chunks=free_chunks, time_limit_s=time_limit_s, watch=watch)
            for each in problems
        ]
        joint, problem = join(
            [replace(each, collective=one.schedule.collective) for each, one in zip(problems, alone, strict=True)]
        )
        schedule = joint.join([one.schedule.expand() for one in alone])
        return Together(tuple(alone), Synthesis.of(schedule, problem, sum(one.seconds for one in alone)))
    chunks = _choose(problems, priorities, search, engine) if free_chunks else None
    cut = problems if chunks is None else [problem.cut(chunks) for problem in problems]
    joint, problem = join(cut, priorities)
    whole = solve(problem, search, engine=engine, time_limit_s=time_limit_s, watch=watch)
    parts = zip(joint.split(whole.schedule.expand()), cut, strict=True)
    return Together(tuple(Synthesis.of(part, own, whole.seconds) for part, own in parts), whole)


def _apart(problems: Sequence[Problem]) -> bool:
    """Whether no two can use the same link."""
    if any(problem.relays for problem in problems):
        return False
    used = np.concatenate([links_within(problem.topology, problem.ranks) for problem in problems])
    return len(np.unique(used)) == len(used)


def _choose(problems: Sequence[Problem], priorities: Sequence[int] | None, search: Search, engine: str) -> int:
    """Chunks per rank for all of them."""
    counts: dict[int, int] = {}

    def cut(chunks: int) -> Problem:
        _, problem = join([each.cut(chunks) for each in problems], priorities)
        counts[problem.collective.num_chunks] = chunks
        return problem

    return counts[choose_chunks(cut, search, engine).collective.num_chunks]
