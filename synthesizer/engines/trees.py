"""Trees packed into the network, and their transfers scheduled: overlapped all_reduce, broadcast, all_gather."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from hocket._core import synthesizer as core
from hocket.base.splitmix import SplitMix
from hocket.schedule import Kind, Schedule, Symmetry, retime
from hocket.schedule.link_symmetry import LinkSymmetry
from hocket.synthesizer.candidate_symmetries import mirror_symmetry
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.spreading import deliveries, timed_schedule, why_not_from_one
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import eccentricity_ps

__all__ = ["ENGINES", "TreePacking"]

_SECONDS_PER_TRANSFER, _SECONDS_PER_IMAGE = 150e-9, 50e-9
_SECONDS_PER_PRICED_LINK, _SECONDS_PER_PRICED_ROUTE = 30e-9, 150e-9
# An attempt schedules its transfers several times, forwards and backwards, while they stay below this in all.
_SCHEDULED_TRANSFERS = 1_000_000
_FEWEST_PASSES, _MOST_PASSES = 2, 6
# All attempts together take about so long, unless a number is given, while the best is half a percent or more above the
# target (of sums, whose bounds are looser, 10 %), in proportion below.
_SECONDS, _LARGE_GAIN, _LARGE_GAIN_OF_SUMS, _MOST_ATTEMPTS = 0.4, 0.005, 0.1, 100
# Roots of an all_reduce are at most this much farther from the others than the best, in percent.
_NEAR_CENTRE_PERCENT = 150
_NEVER_PS = 2**63 - 1


@dataclass(frozen=True)
class _Recipe:
    """How an attempt grows its trees, and how soon after each other their chunks are due (in percent of the time that
    the busiest link has for each; 0: all are equally urgent)."""

    depth_percent: int
    growth_passes: int
    pace_percent: int
    central: bool = False


_REDUCING = (
    _Recipe(100, 1, 100, central=True),
    _Recipe(100, 4, 12),
    _Recipe(100, 4, 0, central=True),
    _Recipe(50, 4, 50, central=True),
    _Recipe(50, 4, 12),
    _Recipe(50, 4, 100),
)
_SPREADING = (
    _Recipe(50, 4, 0),
    _Recipe(100, 4, 0),
    _Recipe(200, 8, 0),
    _Recipe(0, 4, 0),
    _Recipe(25, 8, 0),
    _Recipe(400, 4, 0),
)


@dataclass(frozen=True, kw_only=True)
class TreePacking(NamedEngine):
    """Chunk by chunk a tree over the links least loaded so far, then list scheduling of all transfers, improved
    forwards and backwards: core/src/synthesizer/trees.

    In an all_reduce a chunk is summed up over an in-tree into its root, and spread from there over an out-tree; early
    chunks are spread while late ones are summed up, so links are busy in both directions from the start to the end.
    """

    name: str = "trees"
    summary: str = "all_reduce that sums up and spreads at once"
    collectives: str = "all_reduce, all_gather, broadcast"
    needs: str = "any"
    size: str = "a thousand ranks"

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.num_ranks == 1:
            return "a single rank has nobody to grow a tree to"
        if problem.collective.kind is not Kind.ALL_REDUCE:
            return why_not_from_one(problem)
        if problem.group is not None:
            return "it serves all ranks of a topology, not a group"
        return None

    def seconds(self, problem: Problem) -> float:
        return self._attempts(problem) * self._seconds_per_attempt(problem)

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        best_ps, symmetry = _NEVER_PS, _symmetry(problem)
        images, spreads = _link_images(problem, symmetry), not problem.collective.reducing
        for number, recipe in enumerate(cycle(_recipes(problem))):
            if number >= (search.attempts or self._attempts(problem, best_ps / max(1, search.target_ps) - 1)):
                return
            roots, chunk_bytes = _roots(problem, recipe, symmetry), problem.collective.chunk_bytes
            # which chunk comes first decides where equals meet: once all recipes have been tried, another one does
            order = (
                np.arange(len(roots)) if number < len(_recipes(problem)) else _shuffled(len(roots), search.seed, number)
            )
            if spreads:
                chunk_bytes = chunk_bytes[order]
            columns, reduce = core.trees(
                problem.network,
                images,
                roots[order],
                problem.collective.reducing,
                chunk_bytes,
                recipe.depth_percent,
                recipe.growth_passes,
                recipe.pace_percent,
                _passes(problem),
                search.seed + number,
                search.target_ps,
                search.stop,
            )
            if columns[3].max(initial=0) >= best_ps:
                continue
            if spreads:
                columns = (order.astype(np.int32)[columns[0]], *columns[1:])
            schedule = timed_schedule(problem, columns, self.name, search, reduce.view(np.bool_))
            if not _direct(problem):
                # what was found backwards holds links that routes of other latencies share a little too late
                schedule = retime(schedule, problem.blocking)
            best_ps = schedule.time_ps
            yield schedule
            if best_ps <= search.target_ps:
                return

    def _attempts(self, problem: Problem, gain: float = math.inf) -> int:
        """What they are worth that could gain so much (part of the target)."""
        large = _LARGE_GAIN_OF_SUMS if problem.collective.reducing else _LARGE_GAIN
        seconds = _SECONDS * min(1.0, gain / large)
        return max(1, min(_MOST_ATTEMPTS, int(seconds / self._seconds_per_attempt(problem))))

    def _seconds_per_attempt(self, problem: Problem) -> float:
        collective, order = problem.collective, _symmetry(problem).order
        per_link = _SECONDS_PER_PRICED_LINK if _direct(problem) else _SECONDS_PER_PRICED_ROUTE
        priced = collective.num_chunks * problem.network.num_links * max(r.growth_passes for r in _recipes(problem))
        transfers = _transfers(problem)
        scheduling_s = _passes(problem) * transfers * _SECONDS_PER_TRANSFER
        return 1e-3 + (priced * per_link + scheduling_s) / order + transfers * _SECONDS_PER_IMAGE


def _shuffled(count: int, seed: int, number: int) -> NDArray[np.int64]:
    """0..count-1 in an order that the attempt draws (Fisher-Yates)."""
    draw, order = SplitMix(seed + (number << 32)), list(range(count))
    for place in range(count - 1, 0, -1):
        other = draw.below(place + 1)
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64)


def _direct(problem: Problem) -> bool:
    """Whether no two routes share a link."""
    return len(problem.routes.links) == problem.network.num_links


def _recipes(problem: Problem) -> tuple[_Recipe, ...]:
    return _REDUCING if problem.collective.reducing else _SPREADING


def _transfers(problem: Problem) -> int:
    return deliveries(problem) * (2 if problem.collective.reducing else 1)


def _passes(problem: Problem) -> int:
    transfers = _transfers(problem) // _symmetry(problem).order
    return min(max(_SCHEDULED_TRANSFERS // max(1, transfers), _FEWEST_PASSES), _MOST_PASSES)


def _symmetry(problem: Problem) -> Symmetry:
    """Under which trees and transfers repeat: mirrors of the topology, where every chunk may have any root."""
    direct = problem.topology.num_nodes == problem.topology.num_ranks
    return mirror_symmetry(problem.topology) if problem.collective.reducing and direct else Symmetry()


def _link_images(problem: Problem, symmetry: Symmetry) -> NDArray[np.int32]:
    """What each route becomes under each element (one after the other); without switches route k is link k."""
    routes = np.arange(problem.network.num_links, dtype=np.int32)
    links = LinkSymmetry.of(symmetry, problem.topology)
    return routes if links is None or symmetry.order == 1 else links.images(routes).ravel()


def _roots(problem: Problem, recipe: _Recipe, symmetry: Symmetry) -> NDArray[np.int32]:
    """The root of each chunk's tree, for one chunk of those that are images of each other."""
    collective = problem.collective
    if not collective.reducing:
        return collective.origin
    ranks = np.arange(collective.num_ranks, dtype=np.int32)
    if recipe.central:
        chunk_bytes = collective.largest_chunk_bytes
        graph, reversed_graph = problem.topology.graph, problem.topology.reversed_graph
        farthest_ps = eccentricity_ps(graph, chunk_bytes, ranks, ranks)
        farthest_ps = farthest_ps + eccentricity_ps(reversed_graph, chunk_bytes, ranks, ranks)
        ranks = ranks[farthest_ps <= int(farthest_ps.min()) * _NEAR_CENTRE_PERCENT // 100]
    ranks = ranks[symmetry.home(ranks) == 0] if symmetry.order > 1 else ranks
    return ranks[np.arange(collective.num_chunks // symmetry.order) % len(ranks)]


ENGINES = (TreePacking(),)
