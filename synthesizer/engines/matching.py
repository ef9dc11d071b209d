"""Event-driven matching over the time-expanded network: any topology."""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket._core import synthesizer as core
from hocket.schedule import Schedule
from hocket.synthesizer.engines.spreading import attempts, spread_schedule, why_not_spreading, work
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Matching"]

# Its time grows with the cube of the ports of a switch or faster.
_SECONDS_PER_WORK = 1e-6
_NEVER_PS = 2**63 - 1


@dataclass(frozen=True)
class Matching:
    """The idea of TACOS (Won et al., MICRO 2024) with rules for slow links: hocket/synthesizer/matching.hpp."""

    name: str = "matching"

    def why_not(self, problem: Problem) -> str | None:
        return why_not_spreading(problem)

    def seconds(self, problem: Problem) -> float:
        return work(problem) * _SECONDS_PER_WORK

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        matcher = core.Matcher(problem.network, problem.collective.origin, search.seed)
        best_ps = _NEVER_PS
        for number in range(attempts(problem, search)):
            columns = matcher.attempt(number, best_ps, search.stop)
            if columns is None:
                continue
            schedule = spread_schedule(problem, columns, self.name, search)
            yield schedule
            best_ps = int(columns[3].max(initial=0))
            if best_ps <= search.target_ps:
                return
