"""Time in which something is going on, overlaps counted once."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["covered_ps", "reached_ps"]


def covered_ps(
    owner: NDArray[np.integer], start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64], num_owners: int
) -> NDArray[np.int64]:
    """Picoseconds that the intervals of each owner (0..num_owners-1) cover, overlaps counted once (int64)."""
    if not len(owner):
        return np.zeros(num_owners, np.int64)
    order = np.lexsort((start_ps, owner))
    owner, start, finish = owner[order], start_ps[order], finish_ps[order]
    until = reached_ps(owner, finish)
    same = np.append(False, owner[1:] == owner[:-1])
    before = np.where(same, np.concatenate([until[:1], until[:-1]]), start)
    fresh = np.maximum(until - np.maximum(start, before), 0)
    covered = np.zeros(num_owners, np.int64)
    np.add.at(covered, owner, fresh)
    return covered


def reached_ps(owner: NDArray[np.integer], finish_ps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each interval the latest finish of its owner's up to it; the owners are in order."""
    # A running maximum over the ranks of the times, which do not overflow when each owner's are lifted above those of
    # the owners before it.
    times, place = np.unique(finish_ps, return_inverse=True)
    lifted = owner.astype(np.int64) * len(times)
    reached: NDArray[np.int64] = times[np.maximum.accumulate(place + lifted) - lifted]
    return reached
