"""The algorithms that people made, as candidates: some are optimal where latency counts."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule, first_ready_first, retime
from hocket.schedule.algorithms import NativeAlgorithm, build, build_all
from hocket.schedule.algorithms.place import Place
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["ENGINES", "Native"]

# Of all algorithms together; most are dropped by their busiest link before they are timed.
_SECONDS, _SECONDS_PER_DELIVERY = 0.02, 3e-6
# So many of the quickest are put in order of readiness, if as they were made they come so near to the best by then.
_REORDERED, _NEAR_PERCENT = 3, 160


@dataclass(frozen=True, kw_only=True)
class Native(NamedEngine):
    """Those of `hocket.schedule.algorithms`, timed by `retime`; or `algorithm` alone."""

    name: str = "native"
    summary: str = "small messages, switches that compute"
    collectives: str = "all"
    needs: str = "any"
    size: str = "thousands of ranks"
    shares_links: bool = True

    algorithm: NativeAlgorithm | None = None

    @classmethod
    def of(cls, algorithm: NativeAlgorithm) -> "Native":
        """That algorithm alone, and nothing made of it."""
        return cls(name=f"native:{algorithm.name}", algorithm=algorithm, as_asked=True)

    def why_not(self, problem: Problem) -> str | None:
        if self.algorithm is None:
            return None
        return self.algorithm.why_not(problem.collective, Place(problem.topology, problem.ranks))

    def seconds(self, problem: Problem) -> float:
        return _SECONDS + problem.collective.num_deliveries * _SECONDS_PER_DELIVERY

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        if self.algorithm is not None:
            made = build(self.algorithm.name, problem.collective, problem.topology, problem.group)
            yield retime(made, problem.blocking)
            return
        quickest, as_made = None, []
        for algorithm in build_all(problem.collective, problem.topology, problem.group):
            if quickest is not None and algorithm.busiest_link_ps >= quickest:
                continue
            with suppress(ScheduleError):  # some exchange partial sums in a way that busy links reorder
                timed = retime(algorithm, problem.blocking)
                as_made.append(timed)
                if quickest is None or timed.time_ps < quickest:
                    quickest = timed.time_ps
                    yield timed
        as_made.sort(key=lambda timed: timed.time_ps)
        for timed in as_made[:_REORDERED]:
            if quickest is None or quickest <= search.target_ps or search.stop.asked:
                return
            if timed.busiest_link_ps >= quickest or timed.time_ps * 100 > quickest * _NEAR_PERCENT:
                continue
            ordered = first_ready_first(timed)
            if ordered.time_ps < quickest:
                quickest = ordered.time_ps
                yield ordered


ENGINES = (Native(),)
