"""What the first rank of each orbit does, for topologies that shifts of the ranks leave as they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hocket._core import synthesizer as core
from hocket.base.errors import Stopped
from hocket.schedule import AnySchedule, FoldedSchedule, Kind, Motion, Phase, TransferColumns
from hocket.schedule import Symmetry as Group
from hocket.schedule.link_symmetry import LinkSymmetry
from hocket.synthesizer.candidate_symmetries import candidate_symmetries
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.spreading import spread_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search, Stop

__all__ = ["ENGINES", "SymmetryEngine"]

# Schedules of more transfers stay folded, if the topology has the symmetry link by link.
_MOST_SPELLED_OUT = 500_000
# A search goes on for so many offers of a chunk to a link, over its attempts, and in proportion for so many more while
# its best is this part above the target: some milliseconds, and a tenth of a second at most.
_SEARCH_OFFERS = 100_000
_SEARCH_OFFERS_FOR_GAIN = 5_000_000
_LARGE_GAIN = 0.1
_FEWEST_ATTEMPTS = 8
# A first attempt of no more offers is not worth stopping: a second at most.
_QUICK_WORK = 10_000_000
_SECONDS_PER_OFFER = 25e-9


@dataclass(frozen=True, kw_only=True)
class SymmetryEngine(NamedEngine):
    """Cayley graphs of abelian groups: all_gather as broadcast trees, all_to_all as an open shop, each of one rank and
    translated to all: hocket/synthesizer/symmetry/translations.hpp, spread.hpp, exchange.hpp."""

    name: str = "symmetry"
    summary: str = "optimal or near it at once"
    collectives: str = "all_gather, all_to_all"
    needs: str = "products of rings, fully connected groups, switches, hypercubes"
    size: str = "millions of ranks"
    folds: bool = True

    def why_not(self, problem: Problem) -> str | None:
        kind = problem.collective.kind
        if kind not in (Kind.ALL_GATHER, Kind.ALL_TO_ALL) or problem.collective.block_bytes is not None:
            return "it does all_gather and all_to_all with blocks of one size, and what is made of them"
        if problem.group is not None:
            return "it serves all ranks of a topology, not a group"
        turning = _turning(problem)
        if turning is None:
            return "it needs a topology that turns into itself, such as a product with a ring or a switch"
        if kind is Kind.ALL_TO_ALL and turning.translations.num_orbits > 1:
            return "for all_to_all it needs a topology whose ranks are all alike: a product without meshes"
        return None

    def seconds(self, problem: Problem) -> float:
        turning = _turning(problem)
        return 0.0 if turning is None else _FEWEST_ATTEMPTS * _offers(problem, turning) * _SECONDS_PER_OFFER

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        turning = _turning(problem)
        if turning is None:
            return
        look = _exchange if _exchanges(problem) else _spread
        for moves in look(problem, turning, search):
            yield _schedule(problem, turning, moves, self.name, search)


@dataclass(frozen=True)
class _Turning:
    """How a topology turns into itself."""

    group: Group
    translations: core.Translations


@lru_cache(maxsize=8)
def _turning(problem: Problem) -> _Turning | None:
    """By the shifts of the first box that has any which join all ranks."""
    for box in candidate_symmetries(problem.topology):
        shifts = np.array([motion is Motion.SHIFT for motion in box.motions])
        found = core.Translations(problem.network, np.array(box.sizes, np.int32), shifts)
        if found.order > 1 and found.connected:
            return _Turning(box, found)
    return None


def _exchanges(problem: Problem) -> bool:
    return problem.collective.kind is Kind.ALL_TO_ALL


def _offers(problem: Problem, turning: _Turning) -> int:
    """How often an attempt offers a chunk to a link, roughly: each chunk of the first ranks at each rank to all its
    links."""
    trees = problem.collective.chunks_per_rank * turning.translations.num_orbits
    return trees * problem.collective.num_ranks * max(1, turning.translations.num_generators)


def _first_stop(problem: Problem, turning: _Turning, search: Search) -> Stop:
    """What ends the first attempt: one that is quick is worth finishing."""
    return Stop() if _offers(problem, turning) <= _QUICK_WORK else search.stop


def _exchange(problem: Problem, turning: _Turning, search: Search) -> Iterator[core.TranslatedTransfers]:
    stop = _first_stop(problem, turning, search)
    yield core.symmetric_exchange(turning.translations, problem.collective.chunks_per_rank, stop)


def _spread(problem: Problem, turning: _Turning, search: Search) -> Iterator[core.TranslatedTransfers]:
    """Ever quicker ones of as many attempts as the problem is worth."""
    translations, chunks = turning.translations, problem.collective.chunks_per_rank
    spread = core.SymmetricSpread(problem.network, translations, chunks, search.seed)
    best: core.TranslatedTransfers | None = None
    number = 0
    while number < (search.attempts or _attempts(problem, turning, search, best)):
        stop = search.stop if number else _first_stop(problem, turning, search)
        try:
            found = spread.next(stop)
        except Stopped:
            if number == 0:
                raise
            return
        number += 1
        if found is None:
            continue
        yield found
        best = found
        if best.time_ps <= search.target_ps:
            return


def _attempts(problem: Problem, turning: _Turning, search: Search, best: core.TranslatedTransfers | None) -> int:
    """How many are worth making when the best so far is as it is."""
    gain = _LARGE_GAIN if best is None else best.time_ps / max(1, search.target_ps) - 1
    offers = _SEARCH_OFFERS + round(_SEARCH_OFFERS_FOR_GAIN * min(1, gain / _LARGE_GAIN))
    return max(offers // _offers(problem, turning), _FEWEST_ATTEMPTS)


def _schedule(
    problem: Problem, turning: _Turning, moves: core.TranslatedTransfers, generator: str, search: Search
) -> AnySchedule:
    """All transfers of which `moves` are images, spelled out unless they are many."""
    translations, chunks = turning.translations, problem.collective.chunks_per_rank
    translate = core.translate_exchange if _exchanges(problem) else core.translate_spread
    many = moves.num_transfers * translations.order > _MOST_SPELLED_OUT
    if not many or LinkSymmetry.of(turning.group, problem.topology) is None:
        return spread_schedule(problem, translate(translations, chunks, moves, translations.order), generator, search)
    chunk, link, start_ps, _ = translate(translations, chunks, moves, 1)
    used = np.flatnonzero(np.bincount(link))
    route_of = np.zeros(used[-1] + 1, np.int32)
    route_of[used] = np.arange(len(used))
    offset, links = problem.routes
    paths = [links[offset[each] : offset[each + 1]] for each in used.tolist()]
    return FoldedSchedule(
        collective=problem.collective,
        topology=problem.topology,
        symmetry=turning.group,
        phases=(
            Phase(
                np.cumsum([0, *map(len, paths)]),
                np.concatenate(paths),
                TransferColumns(chunk, route_of[link], start_ps),
            ),
        ),
        blocking=problem.blocking,
        bound=None,
        generator=generator,
        seed=search.seed,
    )


ENGINES = (SymmetryEngine(),)
