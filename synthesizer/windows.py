"""Schedules for a range of message sizes: which is the quickest from where to where."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from hocket.base.errors import ScheduleError, Stopped
from hocket.schedule import AnySchedule, FoldedSchedule
from hocket.synthesizer.objective import resize
from hocket.synthesizer.portfolio import AUTO
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Progress, Search
from hocket.synthesizer.supervision import Watch
from hocket.synthesizer.synthesis import Synthesized, solve

__all__ = ["ScheduleWindow", "windows"]


@dataclass(frozen=True, eq=False)
class ScheduleWindow:
    """One schedule, timed for each of the neighbouring sizes (ascending) for which it is the quickest."""

    at: tuple[Synthesized, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes, as in Collective."""
        return tuple(one.schedule.collective.size_bytes for one in self.at)


def windows(
    problem: Problem,
    sizes: Sequence[int],
    search: Search,
    *,
    engine: str = AUTO,
    free_chunks: bool = True,
    time_limit_s: float | None = None,
    watch: Watch | None = None,
) -> list[ScheduleWindow]:
    """The Pareto set over ascending message sizes: a schedule is searched for each size, each is timed at every size,
    and the quickest keeps it; neighbours with the same schedule are one window.

    `time_limit_s` is for each size. Raises what `solve` does; ends with the sizes that have a schedule on Ctrl-C.
    """
    found: list[Synthesized] = []
    for size in sizes:
        at_size = replace(problem, collective=replace(problem.collective, size_bytes=size))
        progress = Progress()
        try:
            found.append(
                solve(
                    at_size,
                    replace(search, progress=progress),
                    engine=engine,
                    free_chunks=free_chunks,
                    time_limit_s=time_limit_s,
                    watch=watch,
                )
            )
        except Stopped:
            if not (found and progress.interrupted):
                raise
            break
        if progress.interrupted:
            break
    result: list[ScheduleWindow] = []
    before = None
    for size in sizes[: len(found)]:
        origin, quickest = _quickest(found, size, problem)
        if before is not None and _alike(before.schedule, origin.schedule):
            result.append(ScheduleWindow((*result.pop().at, quickest)))
        else:
            result.append(ScheduleWindow((quickest,)))
        before = origin
    return result


def _quickest(found: list[Synthesized], size: int, problem: Problem) -> tuple[Synthesized, Synthesized]:
    """The first of the schedules that is the quickest at a size, as it was found and timed for that size."""
    best: tuple[Synthesized, AnySchedule] | None = None
    for one in found:
        with suppress(ScheduleError):  # some exchange partial sums in a way that other sizes reorder
            timed = resize(one.schedule, size)
            if best is None or timed.time_ps < best[1].time_ps:
                best = one, timed
    assert best is not None  # the schedule of this size is one of them
    return best[0], Synthesized.of(best[1], problem, best[0].seconds)


def _alike(one: AnySchedule, other: AnySchedule) -> bool:
    """Whether the transfers are the same, in the same order."""
    if isinstance(one, FoldedSchedule) or isinstance(other, FoldedSchedule):
        return False  # each is for its size
    return one.collective.chunks_per_rank == other.collective.chunks_per_rank and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("route_offset", "route_links", "chunk", "route", "reduce")
    )
