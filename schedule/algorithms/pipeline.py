"""Jobs that take turns on resources: which step of which job goes first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stage", "shortest_first"]

_READY, _LOOK = range(2)  # steps that are ready at an instant queue up before a resource takes one


@dataclass(frozen=True, slots=True)
class Stage:
    """`steps` one after the other: each holds `resource` for `hold_ps`, the next is ready `latency_ps` after that."""

    resource: int
    steps: int
    hold_ps: int
    latency_ps: int


def shortest_first(jobs: Sequence[Sequence[Stage]]) -> list[list[NDArray[np.int64]]]:
    """When each step starts, for each stage of each job, if a resource serves one step at a time and of those that
    wait the one that holds it for the shortest time (then the one of the first job)."""
    steps = [[stage for stage in job for _ in range(stage.steps)] for job in jobs]
    starts: list[list[int]] = [[] for _ in jobs]
    waiting: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    free: defaultdict[int, int] = defaultdict(int)
    events = [(0, _READY, job, own[0].resource) for job, own in enumerate(steps)]
    while events:
        now, event, job, resource = heappop(events)
        if event == _READY:
            heappush(waiting[resource], (steps[job][len(starts[job])].hold_ps, job))
            heappush(events, (now, _LOOK, 0, resource))
        elif waiting[resource] and free[resource] <= now:
            hold, job = heappop(waiting[resource])
            stage = steps[job][len(starts[job])]
            starts[job].append(now)
            free[resource] = now + hold
            heappush(events, (free[resource], _LOOK, 0, resource))
            if len(starts[job]) < len(steps[job]):
                ready = now + max(1, hold + stage.latency_ps)
                heappush(events, (ready, _READY, job, steps[job][len(starts[job])].resource))
    return [
        np.split(np.array(times, np.int64), np.cumsum([stage.steps for stage in job])[:-1])
        for times, job in zip(starts, jobs, strict=True)
    ]
