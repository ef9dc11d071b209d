"""Matching in rounds for networks whose links are all alike."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hocket._core import synthesizer as core
from hocket.schedule import Schedule
from hocket.synthesizer.engines.spreading import attempts, deliveries, spread_schedule, why_not_spreading
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Rounds"]

# With more rounds a hop, most rounds would be idle.
_MOST_ROUNDS_PER_HOP = 16
_SECONDS_PER_DELIVERY = 100e-9
_NEVER_PS = 2**61


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
        network, orbits = problem.network, core.Orbits(problem.network.num_ranks, np.zeros(0, np.int32))
        ways = _ways(network)
        best_ps = _NEVER_PS
        for number in range(attempts(problem, search)):
            rounds_per_hop, rarest = ways[number % len(ways)]
            found = core.RoundColumns(core.round_times(network, rounds_per_hop))
            time_ps = core.search_rounds(
                network,
                orbits,
                problem.collective.origin,
                rounds_per_hop,
                rarest,
                search.seed,
                number,
                search.threads,
                best_ps,
                found,
                search.stop,
            )
            if time_ps is None:
                continue
            yield spread_schedule(problem, found.release(), self.name, search)
            best_ps = time_ps
            if best_ps <= search.target_ps:
                return


def _ways(network: core.Network) -> list[tuple[int, bool]]:
    """Rounds per hop, and whether rare chunks come first, in the order of trying.

    Short rounds overlap latency with the serialization of other chunks; rounds of a whole hop lose less when latency is
    small.
    """
    lengths = [network.rounds_per_hop] + ([1] if network.rounds_per_hop > 1 else [])
    return [(rounds_per_hop, rarest) for rarest in (False, True) for rounds_per_hop in lengths]
