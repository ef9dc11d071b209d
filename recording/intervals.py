"""How much time intervals cover together."""

import numpy as np
from numpy.typing import NDArray

from hocket.recording.waits import NONE

__all__ = ["covered"]

Numbers = NDArray[np.int64]


def covered(begin: Numbers, end: Numbers) -> int:
    """Length of the union of the intervals that have an end."""
    there = end != NONE
    begin, end = begin[there], end[there]
    if len(begin) == 0:
        return 0
    if (begin[1:] < begin[:-1]).any():
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
    end = np.maximum.accumulate(end)
    until = np.concatenate([begin[:1], end[:-1]])
    return int(np.maximum(0, end - np.maximum(begin, until)).sum())
