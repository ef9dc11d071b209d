"""The optimum, proved, for small problems: nodes of up to 16 GPUs with a chunk or two each."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec

from hocket.base.extras import install_command
from hocket.schedule import Bound, Kind, Schedule
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.matching import Matching
from hocket.synthesizer.engines.spreading import spread_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.time_expanded import TimeExpanded, TooLarge

__all__ = ["ENGINES", "Exact"]

_KINDS = (Kind.ALL_GATHER, Kind.BROADCAST)
# Choices of a link, a chunk and one of its times beyond which the solver would not come to an end.
_MOST_CHOICES = 40_000
_MAX_NODES = 5_000


@dataclass(frozen=True, kw_only=True)
class Exact(NamedEngine):
    """Is there a schedule within a horizon? Asked of a mixed-integer program for ever shorter horizons, first without
    latencies (a relaxation with few different times), then with them. What is proved infeasible becomes the bound.

    HiGHS (Huangfu and Hall 2018) solves the programs of `hocket.synthesizer.time_expanded`. With equal links and
    blocking transfers this is SCCL's k-synchronous search (Cai et al., PPoPP 2021) with one round a step.
    """

    name: str = "exact"
    summary: str = "the optimum, proved"
    collectives: str = "all_gather, broadcast"
    needs: str = "up to 16 ranks, one or two chunks each"
    size: str = "only when named"

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.kind not in _KINDS or problem.group is not None:
            return f"it does {', '.join(_KINDS)} (and their mirror images) over all ranks"
        if (problem.collective.chunk_bytes != problem.collective.chunk_bytes[0]).any():
            return "its chunks differ in size; choose a size that the chunks divide"
        choices = len(problem.routes.offset) * problem.collective.num_chunks
        if choices > _MOST_CHOICES:
            return f"{choices} choices of a link and a chunk are too many to search (limit {_MOST_CHOICES})"
        if find_spec("highspy") is None:
            return f"it needs a solver: {install_command('solve')}"
        return None

    def seconds(self, problem: Problem) -> float:
        """Never affordable unasked: the time it takes is anybody's guess."""
        return float("inf")

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        best = None
        for best in Matching().solve(problem, search):
            yield best
        if best is None:
            return
        proof = _Proof(problem, search, self.name, best, problem.bound.time_ps)
        for latency in (False, True):
            with suppress(TooLarge):
                yield from proof.halve(latency)
        # Where links have bandwidth for several, those of one at a time prove nothing.
        if proof.proved_ps > problem.bound.time_ps and not problem.topology.has_trunks:
            yield replace(proof.best, bound=Bound(proof.proved_ps, "exhaustive search"))


@dataclass
class _Proof:
    """The best schedule so far, and the time below which there is none."""

    problem: Problem
    search: Search
    generator: str
    best: Schedule
    proved_ps: int

    def halve(self, latency: bool) -> Iterator[Schedule]:
        """Asks the program in the middle of what is left between `proved_ps` and `best`, until nothing is left or it
        does not answer; yields better schedules on the way. Without `latency` only what is infeasible is a proof."""
        network = TimeExpanded.of(self.problem, latency)
        candidates = [instant for instant in network.instants(self.best.time_ps) if instant >= self.proved_ps]
        low, high = 0, len(candidates)  # candidates before `low` are infeasible, those from `high` on feasible
        while low < high and not self.search.stop.asked:
            middle = (low + high) // 2
            answer = network.decide(candidates[middle], self.search, _MAX_NODES)
            if answer.columns is not None:
                high = middle
                found = spread_schedule(self.problem, answer.columns, self.generator, self.search)
                if found.time_ps < self.best.time_ps:
                    self.best = found
                    yield found
            elif answer.feasible is False:
                low = middle + 1
                self.proved_ps = candidates[low] if low < len(candidates) else self.best.time_ps
            else:
                return


ENGINES = (Exact(),)
