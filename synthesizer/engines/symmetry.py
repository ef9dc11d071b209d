"""One rank's part of a schedule, for topologies in which translations take every rank to every other."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hocket._core import synthesizer as core
from hocket.schedule import Kind, Schedule
from hocket.synthesizer.boxes import boxes
from hocket.synthesizer.engines.spreading import deliveries, spread_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Symmetry"]

# A search goes on for about this many offers of a chunk to a link, over its attempts: a second at most.
_SEARCH_WORK = 20_000_000
_FEWEST_ATTEMPTS = 2
_MOST_ATTEMPTS = 60
_SECONDS_PER_TRANSFER = 100e-9


@dataclass(frozen=True)
class Symmetry:
    """Broadcast trees on Cayley graphs of abelian groups, all translations of few: hocket/synthesizer/translations.hpp,
    symmetric_spread.hpp."""

    name: str = "symmetry"

    def why_not(self, problem: Problem) -> str | None:
        if problem.collective.kind is not Kind.ALL_GATHER:
            return f"it does not do {problem.collective.kind}"
        if problem.group is not None:
            return "it serves all ranks of a topology, not a group"
        if _translations(problem) is None:
            return "it needs a topology that turns into itself, such as a product with a ring or a switch"
        return None

    def seconds(self, problem: Problem) -> float:
        return deliveries(problem) * _SECONDS_PER_TRANSFER

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        translations = _translations(problem)
        if translations is None:
            return
        chunks = problem.collective.chunks_per_rank
        transfers = core.symmetric_spread(
            problem.network,
            translations,
            chunks,
            search.seed,
            _attempts(problem, search, translations),
            search.target_ps,
            search.stop,
        )
        yield spread_schedule(problem, core.translate_spread(translations, chunks, transfers), self.name, search)


@lru_cache(maxsize=8)
def _translations(problem: Problem) -> core.Translations | None:
    """Those of the first box that has any which join all ranks."""
    for box in boxes(problem.topology):
        sizes, turns = (np.array(column) for column in zip(*box, strict=True))
        found = core.Translations(problem.network, sizes.astype(np.int32), turns.astype(np.bool_))
        if found.order > 1 and found.connected:
            return found
    return None


def _attempts(problem: Problem, search: Search, translations: core.Translations) -> int:
    """How many the problem is worth."""
    offers = deliveries(problem) // translations.order * translations.num_generators
    return search.attempts or min(max(_SEARCH_WORK // max(1, offers), _FEWEST_ATTEMPTS), _MOST_ATTEMPTS)
