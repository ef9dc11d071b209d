"""What transfers wait for, and the earliest times that respect it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket._core import schedule as engine
from hocket.base.errors import ScheduleError
from hocket.schedule.schedule import Schedule

__all__ = ["dependencies", "first_ready_first", "link_use_over_time", "retime"]

_MOST_PASSES = 3


def dependencies(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The transfers each transfer must wait for, as CSR: transfer t waits for `ids[offset[t]:offset[t+1]]`, ascending.

    They are the deliveries of its chunk into its source that finished by its start, from the last copy on (a copy
    overwrites what came before); those of one that carries its source's own contribution are none. `offset` int64 of
    length M + 1, `ids` int32. Where many transfers wait for the same many deliveries (a direct all_reduce: ranks^3
    entries) the engine's `find_gates` says the same in linear space.
    """
    return engine.dependencies(schedule.transfers)


def link_use_over_time(schedule: Schedule, parts: int) -> NDArray[np.float64]:
    """Share of its bandwidth at which each link is held in each of so many equal parts of the schedule's time, as
    verification counts it: links x parts. A link that carries one transfer at a time is held in whole."""
    chunk_bytes = schedule.collective.chunk_bytes
    busy_ps = engine.use_over_time(schedule.transfers, chunk_bytes, schedule.blocking, parts).reshape(-1, parts)
    edges_ps = np.array([schedule.time_ps * part // parts for part in range(parts + 1)], np.int64)
    # Of trunks each transfer's part is rounded to a picosecond, which may add up to one more than there is.
    return np.minimum(1.0, busy_ps / np.maximum(1, np.diff(edges_ps)))


def retime(schedule: Schedule, blocking: bool = False) -> Schedule:
    """The same transfers, in the same order on every link and with the same dependencies, at the earliest times.

    A transfer starts as soon as its dependencies have finished and the transfers before it (in schedule order) leave it
    room on all links of its route: on each the bandwidth of the slowest link between two ranks, or if `blocking` all of
    it. It takes that for its serialization on the slowest link (if `blocking`, until it finishes) and finishes after
    the summed latency + one serialization per hop between ranks, at least a picosecond. Times are never later than
    those of a schedule that was feasible under the same model; untimed ones become timed.

    Raises ScheduleError when a reducing transfer would send, or a rank have in the end, other contributions than
    before, which can happen where a rank sends and receives partial sums of one chunk at the same time.
    """
    collective = schedule.collective
    start, finish = engine.retime(schedule.transfers, collective.chunk_bytes, blocking, collective.reducing)
    order = np.lexsort((schedule.route, start))
    return replace(
        schedule,
        chunk=schedule.chunk[order],
        route=schedule.route[order],
        reduce=schedule.reduce[order],
        start_ps=start[order],
        finish_ps=finish[order],
        own=schedule.own_of(order),
        timed=True,
        blocking=blocking,
    )


def first_ready_first(schedule: Schedule) -> Schedule:
    """The same transfers with the same dependencies, in another order on the links: what is ready first goes first, of
    what is ready at once the first pieces of all ranks' parts. So later pieces take their first hops while earlier ones
    take their next, and no link waits for a step to end.

    The schedule is timed. Orders follow from times and times from orders, so this is repeated until nothing changes, a
    few times at most; the result is the quickest of all, `schedule` among them.
    """
    quickest = latest = schedule
    for _ in range(_MOST_PASSES):
        piece = latest.chunk % schedule.collective.chunks_per_rank
        ready_ps = _ready_times(latest)
        if not ready_ps.any():
            break
        order = np.lexsort((piece, ready_ps))
        ordered = replace(
            latest,
            chunk=latest.chunk[order],
            route=latest.route[order],
            reduce=latest.reduce[order],
            start_ps=ready_ps[order],
            finish_ps=latest.finish_ps[order],
            own=latest.own_of(order),
        )
        before = latest
        try:
            latest = retime(ordered, schedule.blocking)
        except ScheduleError:  # sums would meet in other ways
            break
        if latest.time_ps < quickest.time_ps:
            quickest = latest
        if np.array_equal(latest.start_ps, before.start_ps):
            break
    return quickest


def _ready_times(schedule: Schedule) -> NDArray[np.int64]:
    """When each transfer's source has what it sends: the finish of the last delivery of its chunk to its source by its
    start; 0 where there is none, or the source's own contribution is sent."""
    count, nodes = schedule.num_transfers, schedule.topology.num_nodes
    chunk = schedule.chunk.astype(np.int64) * nodes
    place = np.concatenate([chunk + schedule.route_dst[schedule.route], chunk + schedule.route_src[schedule.route]])
    time_ps = np.concatenate([schedule.finish_ps, schedule.start_ps])
    sends = np.repeat([False, True], count)
    order = np.lexsort((sends, time_ps, place))
    number = np.arange(2 * count)
    same = np.concatenate([[False], place[order][1:] == place[order][:-1]])
    first = np.maximum.accumulate(np.where(same, 0, number))  # event of this chunk at this place
    delivered = np.maximum.accumulate(np.where(sends[order], -1, number))
    ready_ps = np.zeros(2 * count, np.int64)
    ready_ps[order] = np.where(delivered >= first, time_ps[order][delivered], 0)
    return np.where(schedule.is_own, 0, ready_ps[count:])
