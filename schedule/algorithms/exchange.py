"""Butterflies: in every step each rank exchanges data with one partner, and the partners' partners are new ones."""

from collections.abc import Callable, Sequence

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["exchange", "power_of_two", "xor"]


def power_of_two(algorithm: str, instead: str) -> Callable[[Place], None]:
    """Requires such a number of ranks, in the name of an algorithm."""

    def require(place: Place) -> None:
        if (n := len(place.ranks)) & (n - 1):
            raise ScheduleError(f"{algorithm} needs a power of two of ranks, got {n}; use {instead}")

    return require


def xor(n: int) -> Symmetry:
    """r -> r xor g over n ranks, a power of two: the shifts of a cube with two ranks a side."""
    return Symmetry.shifts(*[2] * (n.bit_length() - 1))


def exchange(kind: Kind, symmetry: Symmetry, partners: Sequence[int]) -> Moves:
    """reduce_scatter, all_gather (its mirror image) or all_reduce (both) with one chunk a rank, where rank 0 exchanges
    with `partners[step]`, and so do its images; in reduce_scatter forwards through the steps.

    Between the ranks of a pair the chunks that both still work on are shared out, half to each. (Where the number of
    ranks is no power of two some chunks stay with both.)
    """
    works_on = np.zeros(1, np.int64)  # rank 0, after the step
    parts = []
    for step, partner in reversed(list(enumerate(partners))):
        of_partner = symmetry.act(partner, works_on)
        parts.append(Moves.of(step, partner, 0, np.setdiff1d(works_on, of_partner), reduce=True, symmetry=symmetry))
        works_on = np.union1d(works_on, of_partner)
    scatter = Moves.together(*parts)
    if kind is Kind.REDUCE_SCATTER:
        return scatter
    gather = scatter.reversed(reduce=False)
    return gather if kind is Kind.ALL_GATHER else scatter.then(gather)
