"""What a search would take, from sizes alone: said before it starts where that is too much."""

import math

from hocket.base.errors import ScheduleError
from hocket.base.memory import machine_bytes
from hocket.base.units import format_bytes, format_time
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["require_memory", "require_patience", "require_routes", "why_not_spelled_out"]

# Of transfers that are spelled out: their columns, those in another order, and what verification looks up.
_BYTES_PER_TRANSFER = 80
# More are not: the same on any machine, as the choice of engines must be.
_MOST_SPELLED_OUT = 400_000_000
# Of a route through switches, as the engines see it.
_BYTES_PER_ROUTE = 120
_SECONDS_PER_ROUTE = 3e-6
# Without a time limit nothing begins that takes longer: the routes, and the search.
_ROUTES_S = 30.0
_SEARCH_S = 300.0


def require_routes(problem: Problem, search: Search) -> None:
    """Raises ScheduleError where the routes through switches, one for each pair of ranks, are too many."""
    topology = problem.topology
    if topology.num_nodes == topology.num_ranks:
        return
    pairs = topology.num_ranks * (topology.num_ranks - 1)
    seconds, needed = pairs * _SECONDS_PER_ROUTE, pairs * _BYTES_PER_ROUTE
    if needed > machine_bytes() or seconds > _limit_s(_ROUTES_S, search):
        raise ScheduleError(
            f"{topology.name} has {pairs} routes through switches: they take about {_minutes(seconds)} and "
            f"{format_bytes(needed)} of memory before any search; give a longer --time-limit than that, or fewer ranks"
        )


def why_not_spelled_out(problem: Problem) -> str | None:
    """Why the transfers of the problem are too many to spell out one by one on any machine; None where they are not."""
    transfers = problem.collective.num_deliveries
    if transfers <= _MOST_SPELLED_OUT:
        return None
    return (
        f"its {transfers} transfers take about {format_bytes(transfers * _BYTES_PER_TRANSFER)} of memory; at most "
        f"{_MOST_SPELLED_OUT} are spelled out; take fewer chunks per rank, or fewer ranks"
    )


def require_memory(problem: Problem) -> None:
    """Raises ScheduleError where this machine has no room for the problem's transfers, spelled out one by one. (Another
    engine may do with less, but which is taken must not depend on the machine.)"""
    needed, memory = problem.collective.num_deliveries * _BYTES_PER_TRANSFER, machine_bytes()
    if needed > memory:
        raise ScheduleError(
            f"{problem.collective.describe()} on {problem.topology.name}: its {problem.collective.num_deliveries} "
            f"transfers take about {format_bytes(needed)} of memory, and this machine has {format_bytes(memory)}; take "
            "fewer chunks per rank or fewer ranks, or an --engine that folds (rounds, symmetry)"
        )


def require_patience(problem: Problem, way: Engine, search: Search) -> None:
    """Raises ScheduleError where the search takes minutes and nobody has said that it may."""
    seconds = way.seconds(problem)
    if _limit_s(_SEARCH_S, search) < seconds < math.inf:
        raise ScheduleError(
            f"{problem.collective.describe()} on {problem.topology.name} takes `{way.name}` about {_minutes(seconds)}; "
            "give a --time-limit to search for so long, or take fewer chunks per rank, or fewer ranks"
        )


def _limit_s(unasked_s: float, search: Search) -> float:
    return unasked_s if search.progress.deadline_s == math.inf else math.inf


def _minutes(seconds: float) -> str:
    if seconds < 60:
        return format_time(round(seconds * 10**12))
    return f"{seconds / 60:.3g} min" if seconds < 3600 else f"{seconds / 3600:.3g} h"
