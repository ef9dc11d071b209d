"""Lateness of one piece of work counts once, in pieces of any size."""

import numpy as np

from hocket.recording.counted_once import CountedOnce

# Who is late, since when it works, by how much, and what of it counts.
ROWS = [
    (0, 5, 3, 3),
    (0, 5, 7, 4),
    (1, 5, 2, 2),
    (0, 5, 6, 0),
    (0, 20, 6, 6),
    (0, 20, 8, 2),
    (1, 5, 3, 1),
    (1, 9, 3, 3),
]


def test_what_is_above_the_most_before_of_the_same_work_counts() -> None:
    owner, since, cost, counted = np.array(ROWS).T
    for size in (1, 3, len(ROWS)):
        once = CountedOnce(2)
        pieces = [slice(begin, begin + size) for begin in range(0, len(ROWS), size)]
        assert np.concatenate([once.take(owner[p], since[p], cost[p]) for p in pieces]).tolist() == counted.tolist()
