"""Event-driven matching over the time-expanded network: any topology."""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket._core import synthesizer as core
from hocket.schedule import Schedule
from hocket.synthesizer.engines.spreading import attempts, matching_seconds, spread_schedule, why_not_spreading
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Matching"]


@dataclass(frozen=True)
class Matching:
    """The idea of TACOS (Won et al., MICRO 2024) with rules for slow links: hocket/synthesizer/matching.hpp."""

    name: str = "matching"

    def why_not(self, problem: Problem) -> str | None:
        return why_not_spreading(problem)

    def seconds(self, problem: Problem) -> float:
        return matching_seconds(problem, attempts(problem, Search()))

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        matcher = core.Matcher(problem.network, problem.collective.origin, search.seed)
        attempt, most = 0, attempts(problem, search)
        while attempt < most or search.tireless:
            attempt += 1
            columns = matcher.next(search.stop)
            if columns is None:
                continue
            yield spread_schedule(problem, columns, self.name, search)
            if columns[3].max(initial=0) <= search.target_ps:
                return
