"""Numbers for equal rows of columns: how rows of different ranks find each other."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["number_equal", "occurrence"]


def number_equal(*columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows get equal numbers 0, 1, ... in the order in which they appear: each row's number, and each number's
    first row."""
    order = np.lexsort(columns[::-1])
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    first = order[fresh]  # the sort is stable: the smallest row of each number
    appearance = np.argsort(first, kind="stable")
    renumbered = np.empty(len(first), np.int64)
    renumbered[appearance] = np.arange(len(first))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = renumbered[np.cumsum(fresh) - 1]
    return numbers, first[appearance]


def occurrence(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal numbers come before each."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    result = np.empty(len(order), np.int64)
    result[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return result
