"""Matching in rounds for networks whose links are all alike."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hocket._core import synthesizer as core
from hocket.schedule import Schedule
from hocket.synthesizer.engines.spreading import attempts, deliveries, spread_schedule, why_not_spreading
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Rounds"]

# With more rounds a hop, most rounds would be idle.
_MOST_ROUNDS_PER_HOP = 16
_SECONDS_PER_DELIVERY = 100e-9


@dataclass(frozen=True)
class Rounds:
    """512 chunks compared at a time: hocket/synthesizer/rounds.hpp."""

    name: str = "rounds"

    def why_not(self, problem: Problem) -> str | None:
        reason = why_not_spreading(problem)
        if reason is None and not problem.network.uniform:
            return "it needs links that are all alike and join ranks directly; use `matching`"
        return reason

    def seconds(self, problem: Problem) -> float:
        if problem.network.rounds_per_hop > _MOST_ROUNDS_PER_HOP:
            return math.inf
        return deliveries(problem) * _SECONDS_PER_DELIVERY

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        columns = core.rounds(
            problem.network,
            problem.collective.origin,
            search.seed,
            attempts(problem, search),
            search.target_ps,
            search.threads,
        )
        yield spread_schedule(problem, columns, self.name, search)
