"""The collectives of a job, each as it was recorded beside as it was predicted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.steps import NO_STEP
from hocket.simulator.analysis.dimensions import dimension_of_group
from hocket.simulator.intervals import reached_ps
from hocket.simulator.prediction import Prediction
from hocket.simulator.recorded_times import COMMUNICATES, NodeTimes, transfer_times
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["ComparedCalls", "Sort", "calls_of"]


class Sort(NamedTuple):
    """Collectives that are alike; `size_bytes` as nccl-tests counts it."""

    kind: str
    dimension: str
    ranks: int
    size_bytes: int


@dataclass(frozen=True, eq=False)
class ComparedCalls:
    """Each collective of a job, in columns: its sort; its step (not `steps_told`, of any: its turn among its sort, from
    1); what was recorded of it, from the last member's start to the last one's end (int64 ps, -1 where nothing
    was), and predicted; whether another communication of one of its ranks went on at the same time; and whether all of
    its ranks were recorded (else its times are of some, who may have waited for others)."""

    sorts: tuple[Sort, ...]
    step: NDArray[np.int64]
    steps_told: bool
    recorded_ps: NDArray[np.int64]
    predicted_ps: NDArray[np.int64]
    algorithm: tuple[str, ...]
    overlapped: NDArray[np.bool_]
    seen_by_all: NDArray[np.bool_]


def calls_of(
    prediction: Prediction,
    times: NodeTimes,
    recorded: NDArray[np.bool_],
    purposes: Mapping[str, str] | None = None,
) -> ComparedCalls:
    """The collectives of a job of which those ranks were `recorded` (mask over ranks; the times of the others are made
    up), and which was predicted so. `purposes` are what its groups are for (`dimensions.purposes_of_groups`)."""
    workload = prediction.workload
    rows = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    number, count = workload.operand[rows], len(workload.call_of)
    calls = [workload.calls[at] for at in workload.call_of.tolist()]
    names = [workload.groups[at] for at in workload.group_of.tolist()]
    sorts = tuple(
        Sort(
            call.kind,
            dimension_of_group(name, len(call.group), workload.num_ranks, (purposes or {}).get(name, "")),
            len(call.group),
            call.size_bytes,
        )
        for call, name in zip(calls, names, strict=True)
    )
    overlapped = np.zeros(count, np.bool_)
    overlapped[number[_overlaps(workload, times)[rows]]] = True
    seen = np.ones(count, np.bool_)
    seen[number[~recorded[workload.rank[rows]]]] = False
    step = np.full(count, NO_STEP, np.int64)
    step[number] = workload.step[rows]
    told = bool((step != NO_STEP).any())
    return ComparedCalls(
        sorts,
        step if told else _turns(sorts),
        told,
        transfer_times(number, times.start_ps[rows], times.finish_ps[rows], count),
        np.array([each.time_ps for each in prediction.collectives], np.int64),
        tuple(each.algorithm for each in prediction.collectives),
        overlapped,
        seen,
    )


def _turns(sorts: Sequence[Sort]) -> NDArray[np.int64]:
    """The turn of each among its sort, from 1."""
    seen: Counter[Sort] = Counter()
    found = []
    for sort in sorts:
        seen[sort] += 1
        found.append(seen[sort])
    return np.array(found, np.int64)


def _overlaps(workload: Workload, times: NodeTimes) -> NDArray[np.bool_]:
    """Of each node that communicates: whether another one of its rank begins before it ends, or ends after it began."""
    found = np.zeros(len(workload.kind), np.bool_)
    rows = np.flatnonzero(np.isin(workload.kind, COMMUNICATES) & times.known)
    rows = rows[np.lexsort((times.start_ps[rows], workload.rank[rows]))]
    rank, start, finish = workload.rank[rows], times.start_ps[rows], times.finish_ps[rows]
    same = rank[:-1] == rank[1:]
    found[rows[:-1][same & (finish[:-1] > start[1:])]] = True
    found[rows[1:][same & (reached_ps(rank, finish)[:-1] > start[1:])]] = True
    return found
