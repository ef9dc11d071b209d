"""Butterflies: in every step each rank exchanges data with one partner, and the partners' partners are new ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Kind

__all__ = ["exchange", "require_power_of_two"]


def require_power_of_two(algorithm: str, n: int, instead: str) -> None:
    if n & (n - 1):
        raise ScheduleError(f"{algorithm} needs a power of two of ranks, got {n}; use {instead}")


def exchange(kind: Kind, n: int, partners: Sequence[NDArray[np.int64]]) -> Moves:
    """reduce_scatter, all_gather (its mirror image) or all_reduce (both) over n ranks with one chunk each, where rank r
    exchanges with `partners[step][r]`, in reduce_scatter forwards through the steps.

    Between the ranks of a pair the chunks that both still work on are shared out, half to each.
    """
    works_on = np.eye(n, dtype=np.bool_)  # [rank, chunk], after the step
    parts = []
    for step, partner in reversed(list(enumerate(partners))):
        rank, chunk = np.nonzero(works_on)
        parts.append(Moves.of(step, partner[rank], rank, chunk, reduce=True))
        works_on |= works_on[partner]
    scatter = Moves.together(*parts)
    if kind is Kind.REDUCE_SCATTER:
        return scatter
    gather = scatter.reversed(reduce=False)
    return gather if kind is Kind.ALL_GATHER else scatter.then(gather)
