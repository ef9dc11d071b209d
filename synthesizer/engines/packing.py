"""As many spanning trees as fit into the network at all, packed exactly: bandwidth-optimal all_gather and broadcast."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice, product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hocket._core import synthesizer as core
from hocket._core.synthesizer import Network
from hocket.schedule import Schedule
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.spreading import deliveries, spread_schedule, why_not_from_one
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Routes

__all__ = ["ENGINES", "SpanningTreePacking"]

_SECONDS_PER_TRANSFER = 1e-6
# For each edge of the trees from each root the flow to each rank is looked at.
_SECONDS_PER_LOOK = 0.8e-6
_PASSES = 8
_NEVER_PS = 2**63 - 1
# How soon after each other chunks are due, in percent of the time that the busiest link has for each; then as if all
# were equally urgent.
_PACES_PERCENT = (12, 50, 0, 100)
# Trees are rather repeated than packed for all chunks at once if that costs less than so much of the period.
_LOSS_PERCENT = 101
_MOST_RANKS = 512
# Beyond so many ranks switches are replaced by few wide connections only.
_MOST_RANKS_SPREAD = 32


@dataclass(frozen=True, kw_only=True)
class SpanningTreePacking(NamedEngine):
    """Spanning trees from every chunk's origin, as many over each link as it has slots in the shortest period for which
    cuts allow it; switches are replaced by connections of ranks first: core/src/synthesizer/packing. Then the trees'
    transfers are scheduled as those of `trees`."""

    name: str = "packing"
    summary: str = "as many trees over every link as cuts allow: the bound, for large messages"
    collectives: str = "all_gather, broadcast"
    needs: str = "any, switches above all"
    size: str = "a hundred ranks"

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.num_ranks == 1:
            return "a single rank has nobody to grow a tree to"
        if problem.topology.num_ranks > _MOST_RANKS:
            return f"it keeps a flow to each rank, which beyond {_MOST_RANKS} ranks takes gigabytes; use another engine"
        if problem.topology.in_network:
            return "its trees branch at ranks only: a switch that computes may store, and links then have other slots"
        return why_not_from_one(problem)

    def seconds(self, problem: Problem) -> float:
        attempts = self._attempts(problem)
        packings = -(-attempts // len(_PACES_PERCENT))
        looks = problem.topology.num_ranks**2 * len(np.unique(problem.collective.origin))
        return packings * looks * _SECONDS_PER_LOOK + attempts * _PASSES * deliveries(problem) * _SECONDS_PER_TRANSFER

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        collective, graph = problem.collective, problem.topology.graph
        best_ps, chunk_bytes = _NEVER_PS, collective.largest_chunk_bytes
        period_ps, repeats = _period(problem, search)
        turns = _turns(collective.origin, repeats)
        roots = collective.origin[turns]
        first = roots[: len(roots) // repeats]
        recipes = islice(product(_grains(problem, repeats), _PACES_PERCENT), search.attempts or self._attempts(problem))
        for grain, paces in groupby(recipes, key=itemgetter(0)):
            offset, links, down = core.pack_spanning_trees(
                graph, first, chunk_bytes, problem.blocking, grain, search.stop
            )
            network = Network(graph, offset, links, chunk_bytes, problem.blocking)
            for _, pace_percent in paces:
                chunk, route, start_ps, finish_ps = core.schedule_trees(
                    network,
                    roots,
                    np.tile(down, repeats),
                    period_ps * repeats * pace_percent // (100 * len(roots)),
                    _PASSES,
                    max(period_ps * repeats, search.target_ps),
                    search.stop,
                )
                if finish_ps.max(initial=0) >= best_ps:
                    continue
                columns = turns[chunk], route, start_ps, finish_ps
                schedule = spread_schedule(problem, columns, self.name, search, routes=Routes(offset, links))
                best_ps = schedule.time_ps
                yield schedule
                if best_ps <= search.target_ps:
                    return

    def _attempts(self, problem: Problem) -> int:
        topology = problem.topology
        spread = topology.num_nodes > topology.num_ranks and topology.num_ranks <= _MOST_RANKS_SPREAD
        return len(_PACES_PERCENT) * (2 if spread else 1)


def _period(problem: Problem, search: Search) -> tuple[int, int]:
    """The period of the fewest trees that can be repeated almost without loss, and how often."""
    collective = problem.collective
    _, owned = np.unique(collective.origin, return_counts=True)
    own = int(np.gcd.reduce(owned))
    periods = []
    for repeats in (own // trees for trees in range(1, own + 1) if own % trees == 0):
        roots = collective.origin[_turns(collective.origin, repeats)][: collective.num_chunks // repeats]
        period_ps, _ = core.packing_period(
            problem.topology.graph, roots, collective.largest_chunk_bytes, problem.blocking, search.stop
        )
        periods.append((period_ps, repeats))
    most_ps = min(period_ps * repeats for period_ps, repeats in periods) * _LOSS_PERCENT // 100
    return next((period_ps, repeats) for period_ps, repeats in periods if period_ps * repeats <= most_ps)


def _turns(origin: NDArray[np.int32], repeats: int) -> NDArray[np.int32]:
    """The chunks in an order in which their origins repeat themselves so often: a part of everybody's first."""
    chunks = np.argsort(origin, kind="stable")
    _, owned = np.unique(origin, return_counts=True)
    if len(np.unique(owned)) == 1:
        return chunks.reshape(-1, repeats, owned[0] // repeats).transpose(1, 2, 0).ravel().astype(np.int32)
    place = np.arange(len(chunks)) - np.repeat(np.cumsum(owned) - owned, owned)  # among those of the origin
    own = np.repeat(owned, owned)
    # part by part, in each of which those of every origin are spread evenly
    order = np.lexsort((origin[chunks], place * repeats % own * 2**20 // own, place * repeats // own))
    return chunks[order].astype(np.int32)


def _grains(problem: Problem, repeats: int) -> tuple[int, int]:
    """How much of a pair of links a switch joins at a time: all it can, or in turns of what a rank has to send."""
    return 2**60, -(-problem.collective.num_chunks // (repeats * problem.topology.num_ranks))


ENGINES = (SpanningTreePacking(),)
