"""Which call was waited for when, by what a stream tells and leaves to conclude."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NONE", "Waits", "find_waits"]

Numbers = NDArray[np.int64]

# Stands in a column where there is no value; less than any time.
NONE = int(np.iinfo(np.int64).min)


class Waits(NamedTuple):
    """For each call the first wait for it: ns, the thread that waited, the source it learnt of; NONE where none."""

    begin: Numbers
    end: Numbers
    thread: Numbers
    peer: Numbers


def find_waits(start: Numbers, thread: Numbers, done: Numbers, seen: Numbers) -> Waits:
    """The waits for calls issued at `start` on `thread` and complete at `done`.

    `seen` has a row for each wait in the stream, in the order in which they count: index of the call, begin, end,
    thread, peer.
    """
    waits = np.full((len(start), 4), NONE)
    waits[seen[::-1, 0]] = seen[::-1, 1:]  # of several the first counts
    implied = _implied(start, thread, np.where(waits[:, 1] == NONE, done, NONE), seen)
    waits[implied, :3] = np.stack([start, done, thread], axis=1)[implied]
    return Waits(*waits.T)


def _implied(start: Numbers, thread: Numbers, done: Numbers, seen: Numbers) -> Numbers:
    """C++ code that issues a collective and waits (DDP's set-up) leaves no wait: its thread goes on only afterwards."""
    unwaited = np.flatnonzero(done != NONE)
    found = []
    for number in np.unique(thread[unwaited]):
        events = np.sort(np.concatenate([start[thread == number], seen[seen[:, 3] == number, 1]]))
        rows = unwaited[thread[unwaited] == number]
        following = np.searchsorted(events, start[rows], side="right")
        last = following == len(events)
        found.append(rows[last | (events[np.where(last, 0, following)] >= done[rows])])
    return np.concatenate(found) if found else unwaited
