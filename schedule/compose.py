"""Schedules made of schedules: turned around in time, and one after the other."""

from dataclasses import replace
from typing import overload

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.folded import AnySchedule, FoldedSchedule
from hocket.schedule.schedule import Schedule
from hocket.schedule.timing import retime

__all__ = ["concatenate", "mirror", "reverse"]

# What each kind becomes when its schedules are run backwards on the reversed topology.
_MIRROR = {
    Kind.ALL_GATHER: Kind.REDUCE_SCATTER,
    Kind.REDUCE_SCATTER: Kind.ALL_GATHER,
    Kind.BROADCAST: Kind.REDUCE,
    Kind.REDUCE: Kind.BROADCAST,
    Kind.GATHER: Kind.SCATTER,
    Kind.SCATTER: Kind.GATHER,
}


def mirror(collective: Collective) -> Collective | None:
    """The collective that swaps before and after: its schedules, run backwards, do `collective`; None where there is
    none."""
    if collective.conditions is not None:
        return Collective.custom(collective.num_ranks, collective.conditions.mirrored)
    if collective.kind not in _MIRROR:
        return None
    return replace(collective, kind=_MIRROR[collective.kind])


@overload
def reverse(schedule: Schedule) -> Schedule: ...
@overload
def reverse(schedule: FoldedSchedule) -> FoldedSchedule: ...
def reverse(schedule: AnySchedule) -> AnySchedule:
    """The schedule run backwards on the reversed topology, where links keep their ids.

    all_gather becomes reduce_scatter and broadcast becomes reduce (what was copied out along a tree is summed up along
    it, so every rank must get each chunk exactly once); gather and scatter become each other, and a custom collective
    swaps its conditions. A schedule for the reversed topology thus becomes one for the topology itself. Timed schedules
    are retimed, since a mirrored transfer holds its links at the other end of its latency. Raises ScheduleError for
    other kinds.
    """
    collective = schedule.collective
    mirrored = None if collective.reducing else mirror(collective)
    if mirrored is None:
        raise ScheduleError(f"{collective.kind} has no mirror image in time; only what spreads chunks has")
    if isinstance(schedule, FoldedSchedule):
        phases = tuple(phase.reversed() for phase in reversed(schedule.phases))
        return replace(schedule, collective=mirrored, topology=schedule.topology.reversed(), phases=phases, bound=None)
    start = schedule.time_ps - schedule.finish_ps
    order = np.lexsort((schedule.route, start))
    image = replace(
        schedule,
        collective=mirrored,
        topology=schedule.topology.reversed(),
        route_offset=schedule.route_offset[-1] - schedule.route_offset[::-1],
        route_links=schedule.route_links[::-1].copy(),
        chunk=schedule.chunk[order],
        route=(len(schedule.route_offset) - 2 - schedule.route)[order],
        reduce=mirrored.origin[schedule.chunk[order]] < 0,
        start_ps=start[order],
        finish_ps=(schedule.time_ps - schedule.start_ps)[order],
        bound=None,
        own=None,  # what the one rank that has a chunk at first sends of it is the chunk, marked or not
    )
    return retime(image, schedule.blocking) if schedule.timed else image


@overload
def concatenate(first: Schedule, second: Schedule, collective: Collective) -> Schedule: ...
@overload
def concatenate(first: FoldedSchedule, second: FoldedSchedule, collective: Collective) -> FoldedSchedule: ...
@overload
def concatenate(first: AnySchedule, second: AnySchedule, collective: Collective) -> AnySchedule: ...
def concatenate(first: AnySchedule, second: AnySchedule, collective: Collective) -> AnySchedule:
    """`first`, then `second`, as one schedule of `collective`: reduce_scatter, then all_gather, is all_reduce.

    Each link finishes its part of `first` before it starts on `second`; other than that, timed schedules overlap, but
    for folded ones. Raises ScheduleError when the two differ in topology, group, symmetry, chunks or the model of time,
    and where ranks send their own contributions to sums in `second`: those to the whole are others.
    """
    if isinstance(first, FoldedSchedule) or isinstance(second, FoldedSchedule):
        if isinstance(first, Schedule) or isinstance(second, Schedule):
            raise ScheduleError("cannot join a folded schedule to one that is not; expand() it")
        _require_equal(first, second, "symmetry", first.symmetry, second.symmetry)
        _require_alike(first, second)
        return replace(first, collective=collective, phases=first.phases + second.phases, bound=None)
    _require_equal(first, second, "group", first.ranks.tolist(), second.ranks.tolist())
    _require_equal(first, second, "relays", first.relays, second.relays)
    _require_equal(first, second, "timed", first.timed, second.timed)
    if second.collective.reducing and second.is_own.any():
        raise ScheduleError(
            f"cannot join {first.collective.kind} and {second.collective.kind}: ranks send their own contributions to "
            f"the second, which the first leaves behind it changed"
        )
    _require_alike(first, second)
    whole = replace(
        first,
        collective=collective,
        route_offset=np.concatenate([first.route_offset, first.route_offset[-1] + second.route_offset[1:]]),
        route_links=np.concatenate([first.route_links, second.route_links]),
        chunk=np.concatenate([first.chunk, second.chunk]),
        route=np.concatenate([first.route, second.route + np.int32(len(first.route_offset) - 1)]),
        reduce=np.concatenate([first.reduce, second.reduce]),
        start_ps=np.concatenate([first.start_ps, first.time_ps + second.start_ps]),
        finish_ps=np.concatenate([first.finish_ps, first.time_ps + second.finish_ps]),
        bound=None,
        own=None if first.own is None else np.concatenate([first.own, np.zeros(second.num_transfers, np.bool_)]),
    )
    return retime(whole, first.blocking) if first.timed else whole


def _require_alike(first: AnySchedule, second: AnySchedule) -> None:
    _require_equal(first, second, "topology", first.topology.fingerprint, second.topology.fingerprint)
    _require_equal(first, second, "blocking", first.blocking, second.blocking)
    same = np.array_equal(first.collective.chunk_bytes, second.collective.chunk_bytes)
    _require_equal(first, second, "chunks", same, True)


def _require_equal(first: AnySchedule, second: AnySchedule, name: str, ours: object, theirs: object) -> None:
    if ours != theirs:
        raise ScheduleError(f"cannot join {first.collective.kind} and {second.collective.kind}: {name} differs")
