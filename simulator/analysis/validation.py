"""What a job recorded of its communication and its steps beside what was predicted of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.steps import NO_STEP
from hocket.simulator.analysis.dimensions import dimension_of_group
from hocket.simulator.intervals import covered_ps
from hocket.simulator.prediction import Prediction
from hocket.simulator.recorded_times import COMMUNICATES, NodeTimes, transfer_times
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["CollectiveErrors", "ComparedCalls", "StepErrors", "Validation", "calls_of", "steps_of", "validation"]

_OVERLAPPED = 1.2  # how much longer those that overlap others take, to be named
_TO_SIGMA = 1.4826  # a median absolute deviation of a normal distribution in standard deviations


class Sort(NamedTuple):
    """Collectives that are alike; `size_bytes` as nccl-tests counts it."""

    kind: str
    dimension: str
    ranks: int
    size_bytes: int


@dataclass(frozen=True, eq=False)
class ComparedCalls:
    """Each collective of a job, in columns: its sort; its step (where no collective's is told: how many of its sort
    came before it); what was recorded of it, from the last member's start to the last one's end (int64 ps, -1 where
    nothing was), and predicted; whether another communication of one of its ranks went on at the same time. Not
    `seen_by_all`: times of some ranks alone, in which they may have waited for others."""

    sorts: tuple[Sort, ...]
    step: NDArray[np.int64]
    recorded_ps: NDArray[np.int64]
    predicted_ps: NDArray[np.int64]
    algorithm: tuple[str, ...]
    overlapped: NDArray[np.bool_]
    seen_by_all: bool


@dataclass(frozen=True, slots=True)
class CollectiveErrors:
    """Collectives of one sort: medians of what was recorded and predicted, picoseconds; `error`, predicted over
    recorded, less 1; `noise`, the standard deviation of what was recorded (from the median absolute deviation), as a
    share of its median; `because`: what explains the error, in words."""

    sort: Sort
    algorithm: str
    count: int
    recorded_ps: int
    predicted_ps: int
    noise: float
    because: str

    @property
    def error(self) -> float:
        return self.predicted_ps / max(self.recorded_ps, 1) - 1


@dataclass(frozen=True, slots=True)
class StepErrors:
    """A step: its time and the mean over ranks of the part in which they do not compute, picoseconds."""

    step: int
    recorded_ps: int
    predicted_ps: int
    recorded_exposed_ps: int
    predicted_exposed_ps: int

    @property
    def error(self) -> float:
        return self.predicted_ps / max(self.recorded_ps, 1) - 1


@dataclass(frozen=True)
class Validation:
    """Sorts by the time that was recorded of them, the longest in all first; steps in order, where the traces tell
    them, else the whole job as one step (NO_STEP)."""

    collectives: tuple[CollectiveErrors, ...]
    steps: tuple[StepErrors, ...]

    def error_at(self, percentile: float) -> float | None:
        """The percentile of the sorts' absolute errors, each counted as often as it was called; None: no calls."""
        errors = np.repeat(
            [abs(each.error) for each in self.collectives], [each.count for each in self.collectives] or 0
        )
        return float(np.percentile(errors, percentile)) if len(errors) else None

    @property
    def step_error(self) -> float:
        """All steps' predicted time over the recorded, less 1."""
        predicted, recorded = (
            sum(getattr(each, name) for each in self.steps) for name in ("predicted_ps", "recorded_ps")
        )
        return float(predicted / max(recorded, 1) - 1)


def validation(calls: ComparedCalls, steps: Sequence[StepErrors], only: NDArray[np.bool_] | None = None) -> Validation:
    """The errors of the calls (of those of the mask `only`), and of the steps."""
    chosen = np.arange(len(calls.step)) if only is None else np.flatnonzero(only)
    members: dict[tuple[Sort, str], list[int]] = {}
    for at in chosen.tolist():
        if calls.recorded_ps[at] >= 0:
            members.setdefault((calls.sorts[at], calls.algorithm[at]), []).append(at)
    found = [_errors(calls, *key, np.array(rows)) for key, rows in members.items()]
    found.sort(key=lambda each: -each.count * each.recorded_ps)
    return Validation(tuple(found), tuple(steps))


def calls_of(prediction: Prediction, recorded: NodeTimes, seen_by_all: bool) -> ComparedCalls:
    """The collectives of a job that was recorded so, by all of its ranks or not, and predicted so."""
    workload = prediction.workload
    rows = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    number, count = workload.operand[rows], len(workload.call_of)
    calls = [workload.calls[at] for at in workload.call_of.tolist()]
    names = [workload.groups[at] for at in workload.group_of.tolist()]
    sorts = tuple(
        Sort(call.kind, dimension_of_group(name, len(call.group), workload.num_ranks), len(call.group), call.size_bytes)
        for call, name in zip(calls, names, strict=True)
    )
    overlapped = np.zeros(count, np.bool_)
    overlapped[number[_overlaps(workload, recorded)[rows]]] = True
    step = np.full(count, NO_STEP, np.int64)
    step[number] = workload.step[rows]
    return ComparedCalls(
        sorts,
        step if (step != NO_STEP).any() else _turns(sorts),
        transfer_times(number, recorded.start_ps[rows], recorded.finish_ps[rows], count),
        np.array([each.time_ps for each in prediction.collectives], np.int64),
        tuple(each.algorithm for each in prediction.collectives),
        overlapped,
        seen_by_all,
    )


def _turns(sorts: Sequence[Sort]) -> NDArray[np.int64]:
    """How many of its sort came before each."""
    seen: Counter[Sort] = Counter()
    found = []
    for sort in sorts:
        found.append(seen[sort])
        seen[sort] += 1
    return np.array(found, np.int64)


def steps_of(prediction: Prediction, recorded: NodeTimes) -> list[StepErrors]:
    """The steps of the job, recorded and predicted."""
    workload = prediction.workload
    predicted = NodeTimes(prediction.node_start_ps, prediction.node_finish_ps)
    both = [_step_times(workload, times) for times in (recorded, predicted)]
    return [
        StepErrors(step, both[0][step][0], both[1][step][0], both[0][step][1], both[1][step][1])
        for step in sorted(both[0].keys() & both[1].keys())
    ]


def _step_times(workload: Workload, times: NodeTimes) -> dict[int, tuple[int, int]]:
    """Of each step its time, and the mean over ranks of the part in which they do not compute."""
    known = times.known & (times.finish_ps > times.start_ps)
    rank, step = workload.rank, workload.step
    has_steps = bool((step != NO_STEP).any())
    found = {}
    for number in np.unique(step[known & (step != NO_STEP)]).tolist() if has_steps else [NO_STEP]:
        rows = np.flatnonzero(known & ((step == number) | (not has_steps)))
        start, finish = times.start_ps[rows], times.finish_ps[rows]
        first, last = np.full(workload.num_ranks, 2**62), np.zeros(workload.num_ranks, np.int64)
        np.minimum.at(first, rank[rows], start)
        np.maximum.at(last, rank[rows], finish)
        took = last.max() - first.min()
        computing = rows[np.isin(workload.kind[rows], (NodeKind.COMPUTE, NodeKind.MEMORY))]
        computed = covered_ps(
            rank[computing], times.start_ps[computing], times.finish_ps[computing], workload.num_ranks
        )
        found[number] = (int(took), int((took - computed).mean()))
    return found


def _overlaps(workload: Workload, times: NodeTimes) -> NDArray[np.bool_]:
    """Of each node that communicates: whether another one of its rank begins before it ends, or ends after it began."""
    found = np.zeros(len(workload.kind), np.bool_)
    rows = np.flatnonzero(np.isin(workload.kind, COMMUNICATES) & times.known)
    rows = rows[np.lexsort((times.start_ps[rows], workload.rank[rows]))]
    before, after = rows[:-1], rows[1:]
    meet = (workload.rank[before] == workload.rank[after]) & (times.finish_ps[before] > times.start_ps[after])
    found[before[meet]] = found[after[meet]] = True
    return found


def _errors(calls: ComparedCalls, sort: Sort, algorithm: str, rows: NDArray[np.int64]) -> CollectiveErrors:
    recorded, predicted = calls.recorded_ps[rows], calls.predicted_ps[rows]
    median = float(np.median(recorded))
    noise = _TO_SIGMA * float(np.median(np.abs(recorded - median))) / max(median, 1) if len(rows) > 1 else 0.0
    middle = int(np.median(predicted))
    return CollectiveErrors(
        sort,
        algorithm,
        len(rows),
        int(median),
        middle,
        noise,
        _explained(calls, rows, middle / max(median, 1) - 1, noise),
    )


def _explained(calls: ComparedCalls, rows: NDArray[np.int64], error: float, noise: float) -> str:
    """What tells most of an error: noise, other communication at the same time, or the model."""
    if len(rows) > 1 and abs(error) <= 2 * noise:
        return "within the recording's noise"
    if not calls.seen_by_all and error < 0:
        return "waits for ranks that nobody saw are in what was recorded"
    beside = calls.overlapped[rows]
    recorded, predicted = calls.recorded_ps[rows].astype(float), calls.predicted_ps[rows].astype(float)
    if beside.any() and not beside.all():
        slower = np.median(recorded[beside]) / max(float(np.median(recorded[~beside])), 1.0)
        told = np.median(predicted[beside]) / max(float(np.median(predicted[~beside])), 1.0)
        if max(slower / told, told / slower) > _OVERLAPPED:
            return f"beside other communication {slower:.2f} times as long, predicted {told:.2f} times"
    if beside.all():
        return "all beside other communication" + ("" if error < 0 else ": the model shares links with it")
    if len(rows) == 1:
        return "called once: its noise is not known"
    return "the time that the model has for it"
