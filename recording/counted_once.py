"""Lateness counted once until who is late waits again: what it is late by to a bucket's collective, which it does not
wait for, it is late by to the next bucket's too."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["CountedOnce"]

Numbers = NDArray[np.int64]


class CountedOnce:
    """Of each of `units` what was counted of its work now: `take` costs in order, in pieces of any size."""

    def __init__(self, units: int) -> None:
        self._since = np.full(units, np.iinfo(np.int64).min)
        self._most = np.zeros(units, np.int64)

    def take(self, owner: Numbers, since: Numbers, cost: Numbers) -> Numbers:
        """Of each cost, which its `owner` has of what it works `since` a time, what is above those before of that
        work."""
        counted = cost.copy()
        for unit in np.unique(owner).tolist():
            own = np.flatnonzero(owner == unit)
            begins = np.concatenate([self._since[unit : unit + 1], since[own]])
            values = np.concatenate([self._most[unit : unit + 1], cost[own]])
            work = np.cumsum(np.diff(begins, prepend=begins[0]) != 0)
            apart = work * (int(values.max()) + 1)
            most = np.maximum.accumulate(values + apart) - apart
            before = np.where(work[1:] == work[:-1], most[:-1], 0)
            counted[own] = most[1:] - before
            self._since[unit], self._most[unit] = begins[-1], most[-1]
        return counted
