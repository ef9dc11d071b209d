"""Schedules in steps: what may leave together leaves together, as messages too small to fill a link do."""

from dataclasses import replace

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule, dependencies, verify

__all__ = ["levelled"]


def levelled(schedule: Schedule) -> Schedule | None:
    """The same transfers, untimed, each in the first step in which what it sends is there, whatever else its links do
    then; None where sums would become others."""
    offset, ids = dependencies(schedule)
    level = np.zeros(schedule.num_transfers, np.int64)
    bounds, waits = offset.tolist(), ids
    for transfer in np.argsort(schedule.start_ps, kind="stable").tolist():
        needed = waits[bounds[transfer] : bounds[transfer + 1]]
        if len(needed):
            level[transfer] = level[needed].max() + 1
    order = np.lexsort((schedule.route, level))
    found = replace(
        schedule,
        chunk=schedule.chunk[order],
        route=schedule.route[order],
        reduce=schedule.reduce[order],
        start_ps=level[order],
        finish_ps=level[order] + 1,
        timed=False,
        bound=None,
        own=schedule.own_of(order),
    )
    try:
        verify(found)
    except ScheduleError:
        return None
    return found
