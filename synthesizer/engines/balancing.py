"""Loads balanced over paths that are found once: all_to_alls of uneven blocks, in milliseconds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hocket.schedule import Schedule
from hocket.synthesizer.all_to_all_planner import AllToAllPlanner
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Topology

__all__ = ["ENGINES", "ENOUGH_PERCENT", "Balancing"]

# Of the bound: what needs no further search.
ENOUGH_PERCENT = 110
_SECONDS_PER_CHUNK = 3e-6
_SECONDS_PER_SEARCH = 4e-6


@dataclass(frozen=True, kw_only=True)
class Balancing(NamedEngine):
    """`AllToAllPlanner` as an engine: paths of each pair (hocket/synthesizer/balancing/alternatives.hpp), loads
    balanced over them (hocket/synthesizer/balancing/balance.hpp), the busiest port first
    (hocket/synthesizer/balancing/dispatch.hpp)."""

    name: str = "balancing"
    summary: str = "blocks that differ, planned in milliseconds"
    collectives: str = "all_to_all of uneven blocks"
    needs: str = "any"
    size: str = "hundreds of ranks"
    as_asked: bool = True
    enough_percent: int | None = ENOUGH_PERCENT

    def why_not(self, problem: Problem) -> str | None:
        collective = problem.collective
        if not collective.kind.in_pairs or collective.block_bytes is None:
            return f"it does all_to_alls of uneven blocks, which {collective.describe()} is not; use `routing`"
        if problem.group is not None or problem.through is not None or problem.priority is not None:
            return "it knows no relays, priorities, nor several groups; use `routing` or `matching`"
        return None

    def seconds(self, problem: Problem) -> float:
        collective = problem.collective
        searches = collective.num_ranks**2 * (1 + problem.topology.num_links / 100)
        return searches * _SECONDS_PER_SEARCH + collective.num_chunks * _SECONDS_PER_CHUNK

    def cut(self, problem: Problem) -> Problem:
        """The problem with the number of chunks that the planner takes for its sizes."""
        ranks = problem.collective.num_ranks
        planner = planner_of((problem.alone or problem).topology, problem.blocking)
        sizes = np.array(problem.collective.block_bytes, np.int64).reshape(ranks, ranks)
        return problem.cut(planner.chunks(sizes))

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        planner = planner_of(problem.topology, problem.blocking)
        yield replace(planner.plan_collective(problem.collective), seed=search.seed)


@lru_cache(maxsize=4)
def planner_of(topology: Topology, blocking: bool) -> AllToAllPlanner:
    """The planner of a topology, prepared once."""
    return AllToAllPlanner(topology, blocking=blocking)


ENGINES = (Balancing(),)
