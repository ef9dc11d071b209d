"""The algorithms that people made, as candidates: some are optimal where latency counts."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule, retime
from hocket.schedule.algorithms import build_all
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Native"]

_SECONDS_PER_TRANSFER = 40e-6


@dataclass(frozen=True)
class Native:
    """Those of `hocket.schedule.algorithms`, timed on links that carry one transfer at a time."""

    name: str = "native"

    def why_not(self, problem: Problem) -> str | None:
        return None

    def seconds(self, problem: Problem) -> float:
        collective = problem.collective
        return collective.num_chunks * collective.num_ranks * _SECONDS_PER_TRANSFER

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        quickest = None
        for algorithm in build_all(problem.collective, problem.topology, problem.group):
            if quickest is not None and algorithm.busiest_link_ps >= quickest:
                continue
            with suppress(ScheduleError):  # some exchange partial sums in a way that exclusive links reorder
                timed = retime(algorithm, problem.blocking)
                if quickest is None or timed.time_ps < quickest:
                    quickest = timed.time_ps
                    yield timed
