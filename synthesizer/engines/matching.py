"""Event-driven matching over the time-expanded network: any topology."""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket._core import synthesizer as core
from hocket.schedule import Schedule
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.spreading import attempts, matching_seconds, spread_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["ENGINES", "Matching"]

# It counts the holders of every chunk around every rank: some 10 bytes per pair.
_MOST_PAIRS = 200_000_000


@dataclass(frozen=True, kw_only=True)
class Matching(NamedEngine):
    """The idea of TACOS (Won et al., MICRO 2024) with rules for slow links: core/src/synthesizer/matching."""

    name: str = "matching"
    summary: str = "unequal links, clusters of machines"
    collectives: str = "all_gather, broadcast, conditions of your own"
    needs: str = "any"
    size: str = "a thousand ranks"
    tireless: bool = True

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.reducing:
            return f"it spreads chunks, and {problem.collective.kind} sums them up"
        pairs = problem.topology.num_ranks * problem.collective.num_chunks
        if pairs > _MOST_PAIRS:
            return f"{pairs} pairs of a rank and a chunk are too many to count holders for (limit {_MOST_PAIRS})"
        return None

    def seconds(self, problem: Problem) -> float:
        return matching_seconds(problem, attempts(problem, Search()))

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        matcher = core.Matcher(problem.network, problem.demand, search.seed)
        attempt, most = 0, attempts(problem, search)
        while attempt < most or search.tireless:
            attempt += 1
            columns = matcher.next(search.stop)
            if columns is None:
                continue
            chunk, route, start_ps, finish_ps = columns
            yield spread_schedule(problem, (problem.demanded[chunk], route, start_ps, finish_ps), self.name, search)
            if finish_ps.max(initial=0) <= search.target_ps:
                return


ENGINES = (Matching(),)
