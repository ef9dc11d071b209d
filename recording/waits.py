"""Which call was waited for when, by what a stream tells and leaves to conclude."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NONE", "CallWaits", "find_waits"]

Numbers = NDArray[np.int64]

# Stands in a column where there is no value; less than any time.
NONE = int(np.iinfo(np.int64).min)


class CallWaits(NamedTuple):
    """For each call the first wait for it: ns, the thread that waited, the source it learnt of; NONE where none."""

    begin: Numbers
    end: Numbers
    thread: Numbers
    peer: Numbers


class Calls(NamedTuple):
    """When and by which thread calls were issued, when they were complete (NONE: not known), which are asynchronous."""

    start: Numbers
    thread: Numbers
    done: Numbers
    asynchronous: NDArray[np.bool_]


def find_waits(calls: Calls, seen: Numbers, internal: Numbers) -> CallWaits:
    """The waits for calls.

    `seen` has a row for each wait in the stream, in the order in which they count: index of the call, begin, end,
    thread, peer. `internal` has such rows for calls whose Works PyTorch kept to itself, with the end of the function
    that issued and waited. An asynchronous call that is in neither has no wait: who has its Work, or its future, may
    wait unseen or not at all.
    """
    waits = np.full((len(calls.start), 4), NONE)
    waits[seen[::-1, 0]] = seen[::-1, 1:]  # of several the first counts
    may_be_implied = ~calls.asynchronous
    may_be_implied[internal[:, 0]] = True
    implied = _implied(calls, may_be_implied & (waits[:, 1] == NONE), seen)
    waits[implied, :3] = np.stack([calls.start, calls.done, calls.thread], axis=1)[implied]
    rest = internal[waits[internal[:, 0], 1] == NONE]
    waits[rest[:, 0]] = rest[:, 1:]
    return CallWaits(*waits.T)


def _implied(calls: Calls, candidates: NDArray[np.bool_], seen: Numbers) -> Numbers:
    """C++ code that issues a collective and waits at once leaves no wait: its thread goes on only afterwards."""
    unwaited = np.flatnonzero(candidates & (calls.done != NONE))
    found = [unwaited[:0]]
    for number in np.unique(calls.thread[unwaited]):
        events = np.sort(np.concatenate([calls.start[calls.thread == number], seen[seen[:, 3] == number, 1]]))
        rows = unwaited[calls.thread[unwaited] == number]
        following = np.searchsorted(events, calls.start[rows], side="right")
        last = following == len(events)
        found.append(rows[last | (events[np.where(last, 0, following)] >= calls.done[rows])])
    return np.concatenate(found)
