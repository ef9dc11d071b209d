"""What a job recorded of its communication and its steps beside what was predicted of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.steps import NO_STEP
from hocket.simulator.analysis.call_errors import CollectiveErrors, errors_by_sort, errors_of_near_sizes
from hocket.simulator.analysis.compared_calls import ComparedCalls
from hocket.simulator.intervals import covered_ps
from hocket.simulator.prediction import Prediction
from hocket.simulator.recorded_times import NodeTimes
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["StepErrors", "Validation", "steps_of", "validation"]


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
    """Sorts by the time that was recorded of them, the longest in all first, and the same `near` ones taken together,
    for tables; steps in order, where the traces tell them, else the whole job as one step (NO_STEP)."""

    collectives: tuple[CollectiveErrors, ...]
    near: tuple[CollectiveErrors, ...]
    steps: tuple[StepErrors, ...]

    def error_at(self, percentile: float) -> float | None:
        """The percentile of the absolute errors of the sorts' medians, each counted as often as it was called; None: no
        calls."""
        errors = np.repeat(
            [abs(each.error) for each in self.collectives], [each.count for each in self.collectives] or 0
        )
        return float(np.percentile(errors, percentile)) if len(errors) else None

    @property
    def noise(self) -> float | None:
        """The median noise of the sorts, each counted as often as it was called; None where none was called twice."""
        known = [each for each in self.collectives if each.count > 1]
        noise = np.repeat([each.noise for each in known], [each.count for each in known] or 0)
        return float(np.median(noise)) if len(noise) else None

    @property
    def step_error(self) -> float | None:
        """All steps' predicted time over the recorded, less 1; None: no steps."""
        if not self.steps:
            return None
        predicted, recorded = (
            sum(getattr(each, name) for each in self.steps) for name in ("predicted_ps", "recorded_ps")
        )
        return float(predicted / max(recorded, 1) - 1)


def validation(calls: ComparedCalls, steps: Sequence[StepErrors], only: NDArray[np.bool_] | None = None) -> Validation:
    """The errors of the calls (of those of the mask `only`), and of the steps."""
    chosen = (np.arange(len(calls.step)) if only is None else np.flatnonzero(only)).tolist()
    return Validation(errors_by_sort(calls, chosen), errors_of_near_sizes(calls, chosen), tuple(steps))


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
