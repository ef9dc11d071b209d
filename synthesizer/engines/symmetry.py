"""What the first rank of each orbit does, for topologies that shifts of the ranks leave as they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hocket._core import synthesizer as core
from hocket.core.errors import Stopped
from hocket.schedule import Kind, Motion, Schedule
from hocket.synthesizer.boxes import boxes
from hocket.synthesizer.engines.spreading import spread_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Symmetry"]

# A search goes on for about this many offers of a chunk to a link, over its attempts: a second at most.
_SEARCH_WORK = 20_000_000
_FEWEST_ATTEMPTS = 2
_MOST_ATTEMPTS = 60
_SECONDS_PER_CHUNK = 100e-9
_NEVER_PS = 2**63 - 1


@dataclass(frozen=True)
class Symmetry:
    """Cayley graphs of abelian groups: all_gather as broadcast trees, all_to_all as an open shop, each of one rank and
    translated to all: hocket/synthesizer/translations.hpp, symmetric_spread.hpp, symmetric_exchange.hpp."""

    name: str = "symmetry"

    def why_not(self, problem: Problem) -> str | None:
        kind = problem.collective.kind
        if kind not in (Kind.ALL_GATHER, Kind.ALL_TO_ALL) or problem.collective.block_bytes is not None:
            return "it does all_gather and all_to_all with blocks of one size, and what is made of them"
        if problem.group is not None:
            return "it serves all ranks of a topology, not a group"
        translations = _translations(problem)
        if translations is None:
            return "it needs a topology that turns into itself, such as a product with a ring or a switch"
        if kind is Kind.ALL_TO_ALL and translations.num_orbits > 1:
            return "for all_to_all it needs a topology whose ranks are all alike: a product without meshes"
        return None

    def seconds(self, problem: Problem) -> float:
        return problem.collective.num_chunks * problem.collective.num_ranks * _SECONDS_PER_CHUNK

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        translations, chunks = _translations(problem), problem.collective.chunks_per_rank
        if translations is None:
            return
        if problem.collective.kind is Kind.ALL_TO_ALL:
            moves = core.symmetric_exchange(translations, chunks, search.stop)
            columns = core.translate_exchange(translations, chunks, moves, translations.order)
        else:
            moves = _spread(problem, translations, search)
            columns = core.translate_spread(translations, chunks, moves, translations.order)
        yield spread_schedule(problem, columns, self.name, search)


@lru_cache(maxsize=8)
def _translations(problem: Problem) -> core.Translations | None:
    """Those of the first box that has any which join all ranks."""
    for box in boxes(problem.topology):
        shifts = np.array([motion is Motion.SHIFT for motion in box.motions])
        found = core.Translations(problem.network, np.array(box.sizes, np.int32), shifts)
        if found.order > 1 and found.connected:
            return found
    return None


def _spread(problem: Problem, translations: core.Translations, search: Search) -> core.TranslatedTransfers:
    """The quickest of as many attempts as the problem is worth, or until the search is asked to stop."""
    chunks = problem.collective.chunks_per_rank
    spread = core.SymmetricSpread(problem.network, translations, chunks, search.seed)
    offers = problem.collective.num_chunks * translations.num_generators
    attempts = search.attempts or min(max(_SEARCH_WORK // offers, _FEWEST_ATTEMPTS), _MOST_ATTEMPTS)
    best = spread.attempt(0, _NEVER_PS, search.stop)
    assert best is not None  # no attempt takes that long
    try:
        for number in range(1, attempts):
            if best.time_ps <= search.target_ps:
                break
            best = spread.attempt(number, best.time_ps, search.stop) or best
    except Stopped:
        pass
    return best
