"""Which whole numbers there are in a long column, of few."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct"]

Numbers = NDArray[np.int64]


def distinct(column: Numbers, *others: Numbers) -> tuple[Numbers, Numbers]:
    """As `np.unique` of the rows that the columns make: of each distinct row the first place, and for each place which
    of them is there. They ascend where there is one column. Linear where numbers are close to one another."""
    first, which = _of_one(column)
    for other in others:
        if len(other) and (other != other[0]).any():
            known, at = _of_one(other)
            first, which = _of_one(which * len(known) + at)
    return first, which


def _of_one(column: Numbers) -> tuple[Numbers, Numbers]:
    low = int(column.min()) if len(column) else 0
    span = int(column.max()) + 1 - low if len(column) else 0
    if span > 4 * len(column) + 1024:
        _, first, which = np.unique(column, return_index=True, return_inverse=True)
        return first, which
    key = column - low
    there = np.zeros(span, dtype=bool)
    there[key] = True
    which = (np.cumsum(there) - 1)[key]
    first = np.empty(int(there.sum()), np.int64)
    first[which[::-1]] = np.arange(len(key))[::-1]
    return first, which
