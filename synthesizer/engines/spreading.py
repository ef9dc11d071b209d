"""What the engines that spread chunks share: every chunk goes from one rank to all that want it."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import EVERYONE, Kind, Schedule, retime
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Routes

__all__ = [
    "SPREADING",
    "attempts",
    "deliveries",
    "matching_seconds",
    "spread_schedule",
    "timed_schedule",
    "why_not_from_one",
    "why_not_spreading",
]

SPREADING = (Kind.ALL_GATHER, Kind.BROADCAST)

# An attempt takes about this long for each delivery; and what the routes of a topology cost, once.
_SECONDS_PER_DELIVERY = 0.5e-6
_SECONDS_PER_ROUTE = 2e-6
_SECONDS_PER_RELAY_LINK = 50e-9
# A search goes on for about so long, over its attempts.
_SEARCH_S = 1.0
_FEWEST_ATTEMPTS = 2
_MOST_ATTEMPTS = 2000


def why_not_spreading(problem: Problem) -> str | None:
    """Why the problem is not to bring chunks of one size to all ranks of the topology."""
    if problem.collective.kind not in SPREADING or problem.collective.block_bytes is not None:
        return f"it spreads chunks of one size to all ranks, which {problem.collective.describe()} does not"
    if problem.group is not None:
        return "it serves all ranks of a topology, not a group"
    return None


def why_not_from_one(problem: Problem) -> str | None:
    """The same where the chunks of conditions will do, if each starts at one rank, goes to all, and all are of a size
    but for a byte."""
    collective = problem.collective
    if collective.conditions is None or problem.group is not None:
        return why_not_spreading(problem)
    sizes = collective.chunk_bytes
    if (collective.origin < 0).any() or (collective.destination != EVERYONE).any() or int(np.ptp(sizes)) > 1:
        return "it spreads chunks of one size from one rank each to all ranks"
    return None


def deliveries(problem: Problem) -> int:
    """About as many transfers as a schedule has."""
    collective = problem.collective
    for_all = 0
    if collective.spreads:
        for_all = int(np.count_nonzero(collective.destination < 0))
    return for_all * (collective.num_ranks - 1) + collective.num_chunks - for_all


def attempts(problem: Problem, search: Search) -> int:
    """How many the problem is worth."""
    if search.attempts is not None:
        return search.attempts
    return round(min(max(_SEARCH_S / _attempt_s(problem), _FEWEST_ATTEMPTS), _MOST_ATTEMPTS))


def matching_seconds(problem: Problem, attempts: int) -> float:
    """Roughly, of so many attempts by matching."""
    topology = problem.topology
    pairs = topology.num_ranks * (topology.num_ranks - 1) if topology.num_nodes > topology.num_ranks else 0
    return attempts * _attempt_s(problem) + (topology.num_links + pairs) * _SECONDS_PER_ROUTE


def _attempt_s(problem: Problem) -> float:
    # What is not for everybody needs its relays planned, over the links.
    num_relayed = (
        np.count_nonzero(problem.collective.destination != EVERYONE) + problem.relays * problem.collective.num_chunks
    )
    relays_s = num_relayed * problem.topology.num_links * _SECONDS_PER_RELAY_LINK
    return max(1, deliveries(problem)) * _SECONDS_PER_DELIVERY + relays_s


_Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


def spread_schedule(
    problem: Problem, columns: _Columns, generator: str, search: Search, routes: Routes | None = None
) -> Schedule:
    """The schedule of what an engine found that sums nothing up: chunks, routes (None: the problem's), starts,
    finishes; retimed for the chunks' exact sizes."""
    reduce = np.zeros(len(columns[0]), np.bool_)
    return retime(timed_schedule(problem, columns, generator, search, reduce, routes), problem.blocking)


def timed_schedule(
    problem: Problem,
    columns: _Columns,
    generator: str,
    search: Search,
    reduce: NDArray[np.bool_],
    routes: Routes | None = None,
) -> Schedule:
    """The schedule of what an engine found, as it is; `reduce` as in Schedule, `routes` as in spread_schedule."""
    routes = problem.routes if routes is None else routes
    chunk, route, start_ps, finish_ps = columns
    return Schedule(
        collective=problem.collective,
        topology=problem.topology,
        route_offset=routes.offset,
        route_links=routes.links,
        chunk=chunk,
        route=route,
        reduce=reduce,
        start_ps=start_ps,
        finish_ps=finish_ps,
        timed=True,
        blocking=problem.blocking,
        bound=None,
        generator=generator,
        seed=search.seed,
        group=problem.group,
        relays=problem.relays,
    )
