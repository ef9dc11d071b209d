"""Schedules of one machine whose switches add and copy: which rank is the head of which chunks."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule import SWITCH_KINDS, Kind, Schedule, SwitchRun

__all__ = ["goes_over_switches", "switch_runs"]


def goes_over_switches(schedule: Schedule) -> bool:
    """Whether a schedule needs switches that compute."""
    n = schedule.collective.num_ranks
    return bool((schedule.relay_nodes >= schedule.topology.num_ranks).any() and schedule.dst.max(initial=0) >= n)


def switch_runs(schedule: Schedule, what: str, nodes: Sequence[int]) -> list[SwitchRun]:
    """The runs of chunks of such a schedule. `what` it becomes, as errors name it; `nodes`: that of each rank. Raises
    ScheduleError where ranks are on several machines, or send to each other as well."""
    kind, n = schedule.collective.kind, schedule.collective.num_ranks
    if kind not in SWITCH_KINDS:
        raise ScheduleError(f"{schedule.generator}: {what} lets switches do {', '.join(SWITCH_KINDS)}; no {kind}")
    if len(set(nodes)) > 1:
        raise ScheduleError(
            f"{schedule.generator} lets switches of several machines add and copy chunks: {what} can say that of one "
            "machine alone; use an algorithm or schedule that only the ranks take part in"
        )
    if ((schedule.src < n) & (schedule.dst < n)).any():
        raise ScheduleError(
            f"{schedule.generator}: its ranks send to each other and over switches that add and copy: {what} does one "
            "or the other; use nvls, or a schedule that only the ranks take part in"
        )
    grouped = groupby(enumerate(_heads(schedule)), key=lambda chunk: chunk[1])
    listed = [(head, list(chunks)) for head, chunks in grouped]
    return [SwitchRun(head, chunks[0][0], len(chunks)) for head, chunks in listed]


def _heads(schedule: Schedule) -> list[int]:
    """The rank that drives the switch for each chunk: whoever it brings the sum to, or whose chunk it is."""
    collective, chunks = schedule.collective, schedule.collective.slots
    n = collective.num_ranks
    owners = np.arange(chunks) * n // chunks
    if collective.kind is Kind.BROADCAST:
        owners[:] = collective.root
    elif collective.kind is Kind.ALL_REDUCE:
        summed = (schedule.src >= n) & (schedule.dst < n) & schedule.reduce
        owners[schedule.chunk[summed]] = schedule.dst[summed]
    return [int(owner) for owner in owners]
