"""Ranks that do alike, taken together: a page has a row for each such group, at any number of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.topology.naming import spans

__all__ = ["RanksAlike", "alike", "in_order", "ranks_called"]

_LONGEST = 28  # letters of a group's ranks, before it is told by its number


@dataclass(frozen=True, slots=True)
class RanksAlike:
    """Ranks (int64, ascending) that a page shows as one."""

    ranks: NDArray[np.int64]

    @property
    def name(self) -> str:
        return ranks_called(self.ranks.tolist())


def ranks_called(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0-7`, or `rank 0 and 31 more`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    words = spans(ranks)
    return f"ranks {words}" if len(words) <= _LONGEST else f"rank {ranks[0]} and {len(ranks) - 1} more"


def alike(values: NDArray[np.int64], most: int) -> list[RanksAlike]:
    """Ranks with equal columns of `values` (any x ranks), by their first one; where there are more than `most` such
    groups, those ranks that follow each other instead, in `most` groups."""
    _, first, number = np.unique(values, axis=1, return_index=True, return_inverse=True)
    if len(first) > most:
        return in_order(values.shape[1], most)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(number))[:-1])
    return sorted(map(RanksAlike, groups), key=lambda group: int(group.ranks[0]))


def in_order(num_ranks: int, most: int) -> list[RanksAlike]:
    """Ranks that follow each other, in at most so many groups of one size."""
    size = -(-num_ranks // most)
    return [RanksAlike(np.arange(at, min(at + size, num_ranks))) for at in range(0, num_ranks, size)]
