"""Sets of node ids that take little memory where ids follow one another."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["IdSet"]


class IdSet:
    """Ids as disjoint runs: as many as there are gaps between the ids."""

    def __init__(self) -> None:
        self._first = np.empty(0, np.uint64)  # of each run, ascending
        self._last = np.empty(0, np.uint64)

    def add(self, ids: NDArray[np.uint64]) -> None:
        """Adds ids (uint64, n), which may repeat."""
        if not len(ids):
            return
        ids = np.unique(ids)
        breaks = np.flatnonzero(np.diff(ids) != 1)
        first = np.concatenate([self._first, ids[:1], ids[breaks + 1]])
        last = np.concatenate([self._last, ids[breaks], ids[-1:]])
        order = np.argsort(first, kind="stable")
        first, last = first[order], np.maximum.accumulate(last[order])
        # A run goes on where the next one begins at once behind it; only the very first may begin with 0.
        begins = np.concatenate([[True], first[1:] - np.uint64(1) > last[:-1]])
        ends = np.concatenate([begins[1:], [True]])
        self._first, self._last = first[begins], last[ends]

    def has(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of the ids (uint64, n) are in the set: bool, n."""
        if not len(self._first):
            return np.zeros(len(ids), np.bool_)
        run = np.searchsorted(self._first, ids, side="right") - 1
        return (run >= 0) & (ids <= self._last[run])
