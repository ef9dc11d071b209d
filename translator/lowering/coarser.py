"""Coarser schedules: chunks that go the same way as one, for runtimes that take few steps."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule, retime, verify

__all__ = ["coarsen", "mergeable"]


def mergeable(schedule: Schedule) -> list[int]:
    """By how many chunks at a time the schedule can be coarsened: from 2 on, ascending."""
    sizes = np.unique(_routes_of_chunks(schedule), return_counts=True)[1]
    most = int(np.gcd.reduce([schedule.collective.chunks_per_rank, *sizes.tolist()]))
    return [factor for factor in range(2, most + 1) if most % factor == 0]


def coarsen(schedule: Schedule, factor: int) -> Schedule:
    """The schedule with `factor` chunks that go the same way made one, which goes when the last of them did.

    Chunks of one part of the buffers (all_reduce, broadcast, reduce: of the whole) are interchangeable, so those that
    are made one need not be neighbours. Order on the links stays, times are the earliest. Verified. Raises
    ScheduleError where the chunks cannot be divided so (`mergeable` says how they can), or partial sums would mix.
    """
    if factor not in mergeable(schedule):
        raise ScheduleError(f"{schedule.generator}: chunks do not take the same route in groups of {factor}")
    by_routes = np.argsort(_routes_of_chunks(schedule), kind="stable")
    number = np.empty(len(by_routes), np.int64)
    number[by_routes] = np.arange(len(by_routes)) // factor
    order, hop = _hops(schedule, number[schedule.chunk])
    heads = np.flatnonzero(hop == 0)
    start = np.maximum.reduceat(schedule.start_ps[order], heads)
    by_start = np.argsort(start, kind="stable")
    first = order[heads][by_start]
    merged = replace(
        schedule,
        collective=replace(schedule.collective, chunks_per_rank=schedule.collective.chunks_per_rank // factor),
        chunk=number[schedule.chunk[first]].astype(np.int32),
        route=schedule.route[first],
        reduce=schedule.reduce[first],
        start_ps=start[by_start],
        finish_ps=np.maximum.reduceat(schedule.finish_ps[order], heads)[by_start],
        timed=False,
        bound=None,
        own=schedule.own_of(first),
    )
    verify(merged)
    return retime(merged, schedule.blocking)


def _routes_of_chunks(schedule: Schedule) -> NDArray[np.int64]:
    """A number for each chunk, ascending from part to part of the buffers: chunks of one part that go over the same
    routes, as copies or to be added, with what is their sources' own or all that these have, share theirs."""
    collective = schedule.collective
    order = np.lexsort((schedule.is_own, schedule.reduce, schedule.route, schedule.chunk))
    legs = (schedule.route[order] * 2 + schedule.reduce[order]) * 2 + schedule.is_own[order]
    bounds = np.searchsorted(schedule.chunk[order], np.arange(collective.num_chunks + 1))
    chunks = np.arange(collective.num_chunks)
    part = 0 * chunks if collective.kind.shares_buffer else chunks // collective.chunks_per_rank
    numbers: dict[tuple[int, bytes], int] = {}
    return np.array(
        [
            numbers.setdefault((own, legs[first:last].tobytes()), len(numbers))
            for own, first, last in zip(part.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ],
        np.int64,
    )


def _hops(schedule: Schedule, chunk: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Transfers with those that become one next to each other, and the place of each among these. `chunk`: what the
    chunk of each transfer becomes."""
    leg = (schedule.is_own, schedule.reduce, schedule.route)
    turn = _counted((schedule.start_ps, *leg, schedule.chunk))
    keys = (turn, *leg, chunk)
    place = _counted((schedule.chunk, *keys))
    order = np.lexsort((place, *keys))
    return order, place[order]


def _counted(keys: tuple[NDArray[np.generic], ...]) -> NDArray[np.int64]:
    """The place of each row among those with equal keys, by the first of the keys, which does not count."""
    order = np.lexsort(keys)
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.any([np.diff(key[order].astype(np.int64)) != 0 for key in keys[1:]], axis=0)
    place = np.empty(len(order), np.int64)
    at = np.arange(len(order))
    place[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return place
