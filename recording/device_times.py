"""Calls on devices by their devices' times: streams take the place of the threads that issued.

A host runs ahead of its devices: what it sees is when it told them. Events tell when a stream came to a call, which
could begin then, when it came to the wait for it, and when it went on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hocket.recording.waits import NONE

if TYPE_CHECKING:
    from hocket.recording.calls import CallColumns

__all__ = ["by_devices"]

Numbers = NDArray[np.int64]

# A stream that went on later than this after it came to a wait, in ns, has waited: two events in a row are apart too.
_WAITED = 20_000


def by_devices(
    columns: "CallColumns",
    ids: Numbers,
    lines: Mapping[str, Numbers],
    streams: Numbers,
    groups: Numbers,
    sizes: Numbers,
) -> tuple["CallColumns", int]:
    """The columns with the devices' times, and of how many calls the end is only known to be before their wait.

    `ids` are the calls' numbers in the stream, `lines` its lines of numbers by letter; `streams` the device's stream
    that was current, NONE where it is no device's; `groups` a number for each group; `sizes` bytes. A call begins when
    its stream is ready and the one before it in its group is over.
    """
    if not len(ids) or not (len(lines["r"]) or len(lines["e"])):
        return columns, 0
    ready, arrival, on, end = _told_times(ids, lines, columns.batch)
    told = (ready != NONE) & (streams != NONE)
    synchronous = (
        told & (end != NONE) & (arrival == NONE) & (columns.wait_end != NONE) & (columns.wait_begin == columns.start)
    )
    arrival = np.where(synchronous, ready, arrival)
    waited = told & (arrival != NONE)
    exact = end != NONE
    seen = waited & ~exact & (on - arrival > _WAITED)
    bounded = waited & ~exact & ~seen
    end = np.where(seen, on, np.where(bounded, np.maximum(arrival, ready), end))
    fallback = np.where(columns.end == NONE, NONE, np.maximum(columns.end, ready))
    end = np.where(told, np.where(end == NONE, fallback, end), columns.end)
    start = np.where(told, ready, columns.start)
    begin = np.where(told, start, columns.begin)
    for group in np.unique(groups[told]).tolist():
        rows = np.flatnonzero((groups == group) & told & (exact | seen | bounded) & (columns.sequence >= 0))
        begin[rows], end[rows] = _one_by_one(start[rows], end[rows], bounded[rows], sizes[rows])
    numbers = np.unique(streams[told], return_inverse=True)[1]
    lane = columns.thread.copy()
    lane[told] = int(max(columns.thread.max(), columns.wait_thread.max())) + 1 + numbers
    host_waited = told & ~waited & (columns.wait_end != NONE)  # by a way that no event stands at
    return (
        replace(
            columns,
            thread=lane,
            start=start,
            begin=begin,
            end=end,
            wait_begin=np.where(
                waited, arrival, np.where(host_waited, np.maximum(columns.wait_begin, ready), columns.wait_begin)
            ),
            wait_end=np.where(
                waited,
                np.where(bounded, arrival, np.maximum(arrival, end)),
                np.where(host_waited, np.maximum(columns.wait_end, ready), columns.wait_end),
            ),
            wait_thread=np.where(told, lane, columns.wait_thread),
        ),
        int(bounded.sum()),
    )


def _told_times(
    ids: Numbers, lines: Mapping[str, Numbers], batch: Numbers
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """For each call when its stream was ready for it, came to its wait and went on, and when the call ended; NONE where
    nothing tells."""
    ready, arrival, on, end = (np.full(len(ids), NONE) for _ in range(4))
    for column, letter, at in ((ready, "r", 1), (ready, "e", 1), (end, "e", 2), (arrival, "v", 1), (on, "v", 2)):
        rows = lines[letter]
        place = np.searchsorted(ids, rows[:, 0]).clip(max=max(len(ids) - 1, 0))
        known = ids[place] == rows[:, 0]
        column[place[known]] = rows[known, at]
    for column in (arrival, on):
        _share(column, batch)
    return ready, arrival, on, end


def _share(column: Numbers, batch: Numbers) -> None:
    """Gives all messages of a batch the time of the one that has one: NCCL has one Work for all."""
    members = np.flatnonzero(batch != NONE)
    if len(members):
        _, which = np.unique(batch[members], return_inverse=True)
        last = np.full(int(which.max()) + 1, NONE)
        np.maximum.at(last, which, column[members])
        column[members] = last[which]


def _one_by_one(start: Numbers, end: Numbers, bounded: NDArray[np.bool_], sizes: Numbers) -> tuple[Numbers, Numbers]:
    """When the collectives of a group began and ended: one after the other, in order.

    Where an end is `bounded` it is only known not to be later than `end`, nor than those of the next: calls that would
    overlap for that share the time until the first end that is known, by their sizes.
    """
    latest = np.minimum.accumulate(end[::-1])[::-1]
    starts, ends, bounds, open_ended = start.tolist(), end.tolist(), latest.tolist(), bounded.tolist()
    weights = np.maximum(sizes, 1).tolist()
    begins, over, count = list(starts), NONE, len(starts)
    first = 0
    while first < count:
        last = first
        while last + 1 < count and open_ended[last] and bounds[last] > starts[last + 1]:
            last += 1
        shared = sum(weights[first : last + 1])
        for row in range(first, last + 1):
            begins[row] = max(starts[row], over)
            if open_ended[row]:
                share = (bounds[last] - begins[row]) * weights[row] // shared
                ends[row] = max(starts[row], min(bounds[row], begins[row] + share))
            begins[row] = min(begins[row], max(ends[row], starts[row]))
            shared -= weights[row]
            over = max(over, ends[row])
        first = last + 1
    return np.array(begins, np.int64), np.array(ends, np.int64)
