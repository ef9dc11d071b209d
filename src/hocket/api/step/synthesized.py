"""Programs synthesized for the collectives on which a job spends the most time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hocket.api.progress import Progress
from hocket.api.simulate.job import GroupCalls
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes
from hocket.schedule import Collective, Kind, Schedule
from hocket.simulator import Prediction
from hocket.simulator.analysis.dimensions import dimension_of_group
from hocket.synthesizer.alike_groups import solve_alike

__all__ = ["AFFORDABLE_S", "Programs", "synthesized"]

AFFORDABLE_S = 5.0
"""Of an engine's search for one program, as it is estimated: the same on any machine."""
_MOST = 3  # sorts of collectives
_KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL)


@dataclass(frozen=True, order=True)
class _Sort:
    """Collectives of a kind by groups of a dimension with so many members."""

    kind: str
    dimension: str
    members: int

    @property
    def name(self) -> str:
        return f"synthesized {self.kind} of {self.dimension} ({self.members} ranks)"


@dataclass(frozen=True)
class Programs:
    """What is synthesized for one sort of collectives: `name` in words, by kind and group."""

    name: str
    schedules: Mapping[GroupCalls, Schedule]


def synthesized(
    prediction: Prediction, purposes: Mapping[str, str], progress: Progress
) -> Iterator[Programs | tuple[str, str]]:
    """Programs for the sorts of collectives that take the most of the ranks' time, each made for the size that does;
    or a sort's name and why there are none. Uneven ones, and those of no fixed kind, keep to what they follow."""
    times, groups = _times(prediction, purposes)
    of_sort: Counter[_Sort] = Counter()
    for (sort, _), time_ps in times.items():
        of_sort[sort] += time_ps
    dominant = sorted(of_sort, key=lambda sort: (-of_sort[sort], sort))[:_MOST]
    for number, sort in enumerate(dominant, start=1):
        of_sizes = {size: time_ps for (each, size), time_ps in times.items() if each == sort}
        size = max(of_sizes, key=lambda size: (of_sizes[size], size))
        progress.status(f"{sort.name}, {format_bytes(size)} ({number} of {len(dominant)} searches)")
        collective = Collective(Kind(sort.kind), sort.members, size)
        threads = len(os.sched_getaffinity(0))
        try:
            found = solve_alike(collective, prediction.topology, sorted(groups[sort]), AFFORDABLE_S, threads)
        except HocketError as error:
            yield sort.name, str(error)
            continue
        yield Programs(sort.name, {(sort.kind, group): schedule for group, schedule in found.items()})


def _times(
    prediction: Prediction, purposes: Mapping[str, str]
) -> tuple[Counter[tuple[_Sort, int]], dict[_Sort, set[tuple[int, ...]]]]:
    """Picoseconds of all members from the last one's start on, by sort and size; and the groups of each sort, in ranks
    of the topology."""
    workload = prediction.workload
    placed = workload.placed()
    times: Counter[tuple[_Sort, int]] = Counter()
    groups: dict[_Sort, set[tuple[int, ...]]] = {}
    for call_at, group_at, time in zip(
        workload.call_of.tolist(), workload.group_of.tolist(), prediction.collectives, strict=True
    ):
        call = placed.calls[call_at]
        if call.kind not in _KINDS or call.block_bytes is not None or len(call.group) < 2 or not call.size_bytes:
            continue
        name = workload.groups[group_at]
        dimension = dimension_of_group(name, len(call.group), workload.num_ranks, purposes.get(name, ""))
        sort = _Sort(call.kind, dimension, len(call.group))
        times[sort, call.size_bytes] += max(0, time.time_ps) * len(call.group)
        groups.setdefault(sort, set()).add(call.group)
    return times, groups
