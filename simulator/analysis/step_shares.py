"""Where the time of a job goes: parts of every rank's time that do not overlap and add up to the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.dimensions import (
    MESSAGES,
    PIPELINE,
    dimension_of_group,
    dimensions_of_messages,
    in_order,
)
from hocket.simulator.intervals import covered_ps
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["Activity", "StepPart", "StepShares", "step_shares"]

_UNSIZED = "of unknown size"


class Activity(StrEnum):
    """What a rank does, or waits for."""

    COMPUTATION = "computation"
    HOST = "host"
    MEMORY = "memory"
    COMMUNICATION = "exposed communication"
    BUBBLE = "bubble"
    SKEW = "skew"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class StepPart:
    """A part of the time: an activity, of communication and skew also in which dimension."""

    activity: Activity
    dimension: str = ""

    @property
    def name(self) -> str:
        return f"{self.activity}, {self.dimension}" if self.dimension else str(self.activity)


@dataclass(frozen=True, eq=False)
class StepShares:
    """`times_ps[part, rank]` (int64): every rank's column adds up to `time_ps`, the time of the whole job.

    Of what goes on at one time the first of `parts` counts. `computation`; `host`, where only the host works (nodes
    called so, of imported profiles); `memory`, nodes that load and store; `exposed communication` of a dimension: it
    goes on, all its ranks there, and the rank does nothing of the former; `bubble`: all that the rank does is wait for
    another pipeline stage, or it has ended and stages of its pipeline have not; `skew` of a dimension: it waits, in a
    collective or a message that is none of a pipeline, for another rank; `skew, at the end`: its pipeline has ended and
    others have not; `idle`: none of these.

    `overlap` has a row a dimension, with columns summed over the ranks, int64 picoseconds: `dimension`;
    `communication_ps`, in which it goes on; `exposed_ps`, the part of it in which its rank does not compute (two
    dimensions at one time count both here); `waited_ps`, in which its members wait for each other, whatever they do
    meanwhile.
    """

    time_ps: int
    parts: tuple[StepPart, ...]
    times_ps: NDArray[np.int64]
    overlap: Columns

    @cached_property
    def means_ps(self) -> NDArray[np.float64]:
        """Each part's mean over the ranks."""
        means: NDArray[np.float64] = self.times_ps.mean(axis=1)
        return means

    def of(self, activity: Activity) -> NDArray[np.int64]:
        """Each rank's time of an activity, over all dimensions (int64 picoseconds)."""
        rows = [at for at, part in enumerate(self.parts) if part.activity is activity]
        total: NDArray[np.int64] = self.times_ps[rows].sum(axis=0)
        return total

    @property
    def imbalance(self) -> float:
        """The longest computation of a rank over the mean of all, less 1: 0.1 is 10 %."""
        computation = self.of(Activity.COMPUTATION)
        return float(computation.max() / max(computation.mean(), 1) - 1)


def step_shares(
    prediction: Prediction, groups: Mapping[str, Sequence[int]], purposes: Mapping[str, str] | None = None
) -> StepShares:
    """Divides the time of each rank. `groups` are the job's process groups, world ranks by name, `purposes` what they
    are for where something other than their names tells that (`dimensions.purposes_of_groups`)."""
    return _Division(prediction, groups, purposes or {}).shares()


class _Division:
    """Intervals of one prediction's nodes, by what they are."""

    def __init__(
        self, prediction: Prediction, groups: Mapping[str, Sequence[int]], purposes: Mapping[str, str]
    ) -> None:
        workload = self._workload = prediction.workload
        self._time_ps = prediction.time_ps
        self._rank = workload.rank
        self._start, self._finish = prediction.node_start_ps, prediction.node_finish_ps
        self._begun = np.clip(self._start[prediction.node_cause], self._start, self._finish)
        self._finish_ps = prediction.finish_ps  # of all ranks of the job
        kind = workload.kind
        self._on_host = workload.on_host
        self._computing = (kind == NodeKind.COMPUTE) & ~self._on_host
        self._memory = kind == NodeKind.MEMORY
        self._collective = kind == NodeKind.COLLECTIVE
        self._message = (kind == NodeKind.SEND) | (kind == NodeKind.RECEIVE)
        self._names, self._dimension = self._dimensions(groups, purposes)
        self._across, self._pipeline = self._waits_across_stages()

    def _dimensions(
        self, groups: Mapping[str, Sequence[int]], purposes: Mapping[str, str]
    ) -> tuple[list[str], NDArray[np.int16]]:
        """The dimensions of the job, in order, and which of them each node that communicates is of (else -1)."""
        workload = self._workload
        sizes = [len(workload.calls[at].group) for at in workload.call_of.tolist()]
        pairs = [*zip(workload.group_of.tolist(), sizes, strict=True)]
        known = {
            (group, size): dimension_of_group(
                workload.groups[group], size, workload.job_ranks, purposes.get(workload.groups[group], "")
            )
            for group, size in set(pairs)
        }
        messages: Columns = {"src": workload.message_src, "dst": workload.message_dst, "bytes": workload.message_bytes}
        of_message = dimensions_of_messages(messages, groups, purposes, workload.rows_of)
        names = in_order([*known.values(), *np.unique(of_message).tolist()])
        number = {name: at for at, name in enumerate(names)}
        found = np.full(len(workload.kind), -1, np.int16)
        of_call = np.array([number[known[pair]] for pair in pairs], np.int16)
        found[self._collective] = of_call[workload.operand[self._collective]]
        unsized = workload.kind == NodeKind.COMMUNICATION
        if unsized.any():
            found[unsized] = len(names)
            names.append(_UNSIZED)
        numbers = np.zeros(len(of_message), np.int16)
        for name in np.unique(of_message).tolist():
            numbers[of_message == name] = number[name]
        found[self._message] = numbers[workload.operand[self._message]]
        return names, found

    def _waits_across_stages(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Of each node: whether who waits there waits for another pipeline stage. So do messages of a pipeline, and
        collectives two of whose members are of one pipeline: it leads messages from stage to stage. And a number of
        each rank's pipeline."""
        workload = self._workload
        stages = [at for at, name in enumerate(self._names) if name in (PIPELINE, MESSAGES)]
        across: NDArray[np.bool_] = self._message & np.isin(self._dimension, stages)
        sent = workload.operand[across]
        pipeline = _joined(workload.job_ranks, *workload.pairs_of(sent))
        if across.any():
            calls = [pipeline[call.members] for call in workload.calls]
            spans = np.array([len(np.unique(each)) < len(each) for each in calls] or [False])
            across[self._collective] = spans[workload.call_of[workload.operand[self._collective]]]
        return across, pipeline

    def shares(self) -> StepShares:
        masks, waits = self._parts()
        parts: list[StepPart] = []
        times: list[NDArray[np.int64]] = []
        taken = np.zeros(self._workload.num_ranks, np.int64)
        painted: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        for part, rows, is_wait in [*((*mask, False) for mask in masks), *((*wait, True) for wait in waits)]:
            painted.append((rows, np.full(len(rows), is_wait)))
            covered = self._covered(painted) if len(rows) else taken
            parts.append(part)
            times.append(covered - taken)
            taken = covered
        times = [self._workload.by_rank(time) for time in times]
        self._add_end(parts, times)
        parts.append(StepPart(Activity.IDLE))
        times.append(self._time_ps - np.array(times, np.int64).sum(axis=0))
        kept = [at for at, time in enumerate(times) if time.any() or not at]
        table = np.array([times[at] for at in kept], np.int64)
        return StepShares(self._time_ps, tuple(parts[at] for at in kept), table, self._overlap())

    def _parts(self) -> tuple[list[tuple[StepPart, NDArray[np.int64]]], list[tuple[StepPart, NDArray[np.int64]]]]:
        """Rows of nodes by the part that they are, while they go on; and while they wait."""
        rows = np.flatnonzero
        going_on = [
            (StepPart(Activity.COMPUTATION), rows(self._computing)),
            (StepPart(Activity.HOST), rows(self._on_host)),
            (StepPart(Activity.MEMORY), rows(self._memory)),
        ]
        communicating = self._collective | self._message
        waiting = communicating & (self._begun > self._start)
        for at, name in enumerate(self._names):
            going_on.append((StepPart(Activity.COMMUNICATION, name), rows(self._dimension == at)))
        waits = [(StepPart(Activity.BUBBLE), rows(waiting & self._across))]
        for at, name in enumerate(self._names):
            own = waiting & ~self._across & (self._dimension == at)
            waits.append((StepPart(Activity.SKEW, name), rows(own)))
        return going_on, waits

    def _covered(self, painted: list[tuple[NDArray[np.int64], NDArray[np.bool_]]]) -> NDArray[np.int64]:
        """What the intervals of these rows cover of each rank's time: while they go on, or while they wait."""
        rows = np.concatenate([each for each, _ in painted])
        waiting = np.concatenate([each for _, each in painted])
        start = np.where(waiting, self._start[rows], self._begun[rows])
        finish = np.where(waiting, self._begun[rows], self._finish[rows])
        return covered_ps(self._rank[rows], start, finish, self._workload.num_ranks)

    def _add_end(self, parts: list[StepPart], times: list[NDArray[np.int64]]) -> None:
        """What is left of the job's time when a rank has ended: bubble up to the end of its pipeline, then skew."""
        ended = np.zeros(self._workload.job_ranks, np.int64)
        np.maximum.at(ended, self._pipeline, self._finish_ps)
        ended = ended[self._pipeline]
        times[parts.index(StepPart(Activity.BUBBLE))] += ended - self._finish_ps
        parts.append(StepPart(Activity.SKEW, "at the end"))
        times.append(self._time_ps - ended)

    def _overlap(self) -> Columns:
        computing, of_each = np.flatnonzero(self._computing), self._workload.rank_counts
        compute = self._covered([(computing, np.zeros(len(computing), np.bool_))])
        table: dict[str, list[int]] = {"communication_ps": [], "exposed_ps": [], "waited_ps": []}
        for at in range(len(self._names)):
            rows = np.flatnonzero(self._dimension == at)
            going_on = (rows, np.zeros(len(rows), np.bool_))
            either = self._covered([(computing, np.zeros(len(computing), np.bool_)), going_on])
            table["communication_ps"].append(int((of_each * self._covered([going_on])).sum()))
            table["exposed_ps"].append(int((of_each * (either - compute)).sum()))
            table["waited_ps"].append(int((of_each * self._covered([(rows, np.ones(len(rows), np.bool_))])).sum()))
        columns = {name: np.array(values, np.int64) for name, values in table.items()}
        return {"dimension": np.array(self._names, np.str_), **columns}


def _joined(num_ranks: int, src: NDArray[np.integer], dst: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number for each rank (int64), alike for those that a chain of messages joins."""
    label = np.arange(num_ranks)
    pairs = np.unique(np.stack([src, dst]), axis=1)
    while True:
        least = label.copy()
        np.minimum.at(least, pairs[0], label[pairs[1]])
        np.minimum.at(least, pairs[1], label[pairs[0]])
        if np.array_equal(least, label):
            return label
        label = least
