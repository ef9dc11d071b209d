"""The engines, which of them fits a network, and how many attempts a problem is worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core import synthesizer as core
from hocket.core.enums import StrEnum
from hocket.core.errors import ScheduleError

__all__ = ["Engine", "Found", "Search", "TooLargeToSearch"]

# A search goes on for about this many transfers times links of a rank, over its attempts: seconds at most.
_SEARCH_WORK = 10_000_000
_FEWEST_ATTEMPTS = 2
_MOST_ATTEMPTS = 28
# Below, `auto` lets both engines try: `rounds` is quicker, `matching` chooses better.
_BOTH_TRANSFERS = 200_000
# Beyond, `matching` takes minutes to days an attempt: its time grows with the cube of the ports of a switch or faster.
_LARGEST_WORK = 20_000_000
# With more rounds a hop, most rounds of the engine `rounds` would be idle.
_MOST_ROUNDS_PER_HOP = 16


class Engine(StrEnum):
    """`matching` handles every network, `rounds` those whose links are all alike; `auto` chooses."""

    AUTO = "auto"
    MATCHING = "matching"
    ROUNDS = "rounds"


class TooLargeToSearch(ScheduleError):
    """No engine would be done in reasonable time; who names one and waits may still search."""


@dataclass(frozen=True, eq=False)
class Found:
    """Transfers in the order of their starts: columns as in Schedule, `route` an index into the network's routes."""

    engine: Engine
    chunk: NDArray[np.int32]
    route: NDArray[np.int32]
    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]

    @property
    def time_ps(self) -> int:
        return int(self.finish_ps.max(initial=0))


@dataclass(frozen=True)
class Search:
    """How to look for a schedule.

    `attempts` None: as many as the problem's size is worth. A schedule of at most `target_ps` ends the search early.
    """

    engine: Engine = Engine.AUTO
    seed: int = 0
    attempts: int | None = None
    threads: int = 1
    target_ps: int = 0

    def run(self, network: core.Network, origin: NDArray[np.int32]) -> Found:
        """Transfers that bring every chunk c from rank origin[c] to all ranks, the best of the attempts.

        Raises Infeasible when a rank cannot be reached, ScheduleError when the engine does not fit the network, and
        TooLargeToSearch where `auto` finds no engine that is quick enough.
        """
        transfers = len(origin) * (network.num_ranks - 1)
        work = max(1, transfers * network.num_links // network.num_ranks)
        attempts = self.attempts or min(max(_SEARCH_WORK // work, _FEWEST_ATTEMPTS), _MOST_ATTEMPTS)
        found = []
        for engine in self._engines(network, transfers, work):
            if engine is Engine.ROUNDS:
                columns = core.rounds(network, origin, self.seed, attempts, self.target_ps, self.threads)
            else:
                columns = core.matching(network, origin, self.seed, attempts, self.target_ps)
            found.append(Found(engine, *columns))
            if found[-1].time_ps <= self.target_ps:
                break
        return min(found, key=lambda candidate: candidate.time_ps)

    def _engines(self, network: core.Network, transfers: int, work: int) -> list[Engine]:
        if self.engine is not Engine.AUTO:
            return [self.engine]
        if not network.uniform or network.rounds_per_hop > _MOST_ROUNDS_PER_HOP:
            if work > _LARGEST_WORK:
                raise TooLargeToSearch(f"{transfers} deliveries over {network.num_links} links are too many to search")
            return [Engine.MATCHING]
        return [Engine.ROUNDS, Engine.MATCHING] if transfers <= _BOTH_TRANSFERS else [Engine.ROUNDS]
