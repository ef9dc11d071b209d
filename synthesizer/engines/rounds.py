"""Matching in rounds for networks whose links are all alike."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hocket._core import synthesizer as core
from hocket.schedule import AnySchedule
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.folded_rounds import FoldedRun
from hocket.synthesizer.engines.round_run import RoundRun, RoundVariant
from hocket.synthesizer.engines.spreading import attempts, deliveries, spread_schedule, why_not_spreading
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["ENGINES", "RoundsEngine"]

# With more rounds a hop, most rounds would be idle.
_FEW_ROUNDS_PER_HOP, _MOST_ROUNDS_PER_HOP = 16, 1024
_SECONDS_PER_DELIVERY = 15e-9
# From so many deliveries on schedules are folded and kept in a file.
_LARGE = 500_000
_NEVER_PS = 2**61


@dataclass(frozen=True, kw_only=True)
class RoundsEngine(NamedEngine):
    """512 chunks compared at a time: core/src/synthesizer/rounds."""

    name: str = "rounds"
    summary: str = "meshes, failures, random graphs: the ingress bound"
    collectives: str = "all_gather, broadcast"
    needs: str = "links all alike, no switches"
    size: str = "tens of thousands of ranks"
    folds: bool = True

    def why_not(self, problem: Problem) -> str | None:
        reason = why_not_spreading(problem)
        if reason is None and not problem.network.uniform:
            return "it needs links that are all alike and join ranks directly; use `matching`"
        if reason is None and problem.network.rounds_per_hop > _MOST_ROUNDS_PER_HOP:
            return f"a hop lasts more than {_MOST_ROUNDS_PER_HOP} of its rounds: chunks are too small; use `matching`"
        return reason

    def seconds(self, problem: Problem) -> float:
        if problem.network.rounds_per_hop > _FEW_ROUNDS_PER_HOP:
            return math.inf
        return deliveries(problem) * _SECONDS_PER_DELIVERY

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        variants, best_ps = _variants(problem.network), _NEVER_PS
        for number in range(attempts(problem, search)):
            variant = variants[number % len(variants)]
            found = self._attempt(problem, search, variant, number, best_ps)
            if found is None:
                continue
            yield found
            best_ps = found.time_ps
            if best_ps <= search.target_ps:
                return

    def _attempt(
        self, problem: Problem, search: Search, variant: RoundVariant, number: int, below_ps: int
    ) -> AnySchedule | None:
        if deliveries(problem) > _LARGE:
            return FoldedRun(problem, search, variant, number).schedule(below_ps, self.name)
        run = RoundRun(problem, search, variant, number)
        columns = core.RoundColumns(run.times)
        if run.start(columns, below_ps).run() is None:
            return None
        return spread_schedule(problem, columns.release(), self.name, search)


def _variants(network: core.Network) -> list[RoundVariant]:
    """In the order of trying.

    Short rounds overlap latency with the serialization of other chunks; rounds of a whole hop lose less when latency is
    small.
    """
    lengths = [network.rounds_per_hop] + ([1] if network.rounds_per_hop > 1 else [])
    return [RoundVariant(rounds_per_hop, rarest) for rarest in (False, True) for rounds_per_hop in lengths]


ENGINES = (RoundsEngine(),)
