"""A replay's times beside those that its traces recorded and those that were predicted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER, MESSAGE, bus_factor
from hocket.chakra import TraceSet
from hocket.runtime.replay.measured import Measured
from hocket.runtime.replay.plan import ReplayPlan
from hocket.simulator import Prediction
from hocket.simulator.intervals import covered_ps
from hocket.simulator.recorded_times import NodeTimes, recorded_times, transfer_times
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["OperationTimes", "RankTimes", "ReplayComparison", "compare"]

_BUSY = (NodeKind.COMPUTE, NodeKind.MEMORY)
_Column = NDArray[np.int64]


@dataclass(frozen=True)
class OperationTimes:
    """Equal operations: of one kind, process group and size (`Collective.size_bytes`, or bytes of a message).

    Times are from the last member's start to the last member's end, as in `CollectiveTime.time_ps`: the mean, median
    and 95th percentile over `count` operations in all iterations, the means of what was recorded and predicted (None:
    it was not). Bandwidths are bytes/s at the mean (None where there are no bytes).
    """

    kind: str
    group: str
    ranks: tuple[int, ...]
    size_bytes: int
    count: int
    measured_ps: int
    median_ps: int
    p95_ps: int
    recorded_ps: int | None
    predicted_ps: int | None
    algbw: float | None
    busbw: float | None


@dataclass(frozen=True)
class RankTimes:
    """One rank, means of an iteration: its `time_ps`, `exposed_ps`, the part in which it did not compute, measured,
    recorded and predicted; how often it came `last` to a collective, and for how long it alone was waited for."""

    rank: int
    time_ps: int
    exposed_ps: int
    recorded_exposed_ps: int | None
    predicted_exposed_ps: int | None
    last: float
    delay_ps: int


@dataclass(frozen=True)
class ReplayComparison:
    """`iterations_ps` are the times of the whole trace, from the first rank's start to the last one's end;
    `steps` how many steps of a job it holds (0: not told); `straggler` is the rank that was waited for longest (None:
    there are no collectives)."""

    iterations_ps: tuple[int, ...]
    recorded_ps: int | None
    predicted_ps: int | None
    steps: int
    operations: tuple[OperationTimes, ...]
    ranks: tuple[RankTimes, ...]
    straggler: int | None
    notes: tuple[str, ...] = field(default=())

    @property
    def measured_ps(self) -> int:
        """The mean iteration."""
        return sum(self.iterations_ps) // len(self.iterations_ps)


def compare(traces: TraceSet, plan: ReplayPlan, measured: Measured, prediction: Prediction | None) -> ReplayComparison:
    """The replay of these traces beside what they recorded, where they did, and a prediction of them."""
    workload = plan.workload
    replayed = [
        NodeTimes(start * 1000, finish * 1000)
        for start, finish in zip(measured.start_ns, measured.finish_ns, strict=True)
    ]
    recorded = recorded_times(traces, workload)
    predicted = NodeTimes(prediction.node_start_ps, prediction.node_finish_ps) if prediction else None
    exposed = np.array([_exposed(workload, times) for times in replayed])
    ends = np.array([_per_rank(workload, times)[1] for times in replayed])
    last, delay = _lateness(workload, replayed)
    recorded_exposed = _exposed(workload, recorded) if recorded else None
    ranks = tuple(
        RankTimes(
            rank=rank,
            time_ps=int(ends[:, rank].mean()),
            exposed_ps=int(exposed[:, rank].mean()),
            recorded_exposed_ps=None if recorded_exposed is None else int(recorded_exposed[rank]),
            predicted_exposed_ps=None if prediction is None else int(prediction.exposed_ps[rank]),
            last=float(last[rank]) / len(replayed),
            delay_ps=int(delay[rank]) // len(replayed),
        )
        for rank in range(workload.num_ranks)
    )
    notes = plan.notes
    if not measured.one_clock:
        notes = (*notes, "ranks on several machines: their times count from their own starts, which differ a little")
    return ReplayComparison(
        iterations_ps=tuple(_span(times) for times in replayed),
        recorded_ps=_span(recorded) if recorded else None,
        predicted_ps=None if prediction is None else prediction.time_ps,
        steps=len(set(workload.step[workload.step >= 0].tolist())),
        operations=tuple(_operations(workload, replayed, recorded, predicted)),
        ranks=ranks,
        straggler=int(np.argmax(delay)) if last.any() else None,
        notes=notes,
    )


def _span(times: NodeTimes) -> int:
    known = times.known
    return int(times.finish_ps[known].max() - times.start_ps[known].min()) if known.any() else 0


def _per_rank(workload: Workload, times: NodeTimes) -> tuple[_Column, _Column]:
    """Of each rank the start of its first node, and the time from there to its last end."""
    first, last = np.full(workload.num_ranks, 2**62), np.zeros(workload.num_ranks, np.int64)
    known = times.known
    np.minimum.at(first, workload.rank[known], times.start_ps[known])
    np.maximum.at(last, workload.rank[known], times.finish_ps[known])
    return first, np.maximum(last - first, 0)


def _exposed(workload: Workload, times: NodeTimes) -> _Column:
    """The part of each rank's time in which it does not compute."""
    busy = np.isin(workload.kind, _BUSY) & times.known
    computed = covered_ps(workload.rank[busy], times.start_ps[busy], times.finish_ps[busy], workload.num_ranks)
    exposed: _Column = _per_rank(workload, times)[1] - computed
    return exposed


def _operations(
    workload: Workload, replayed: list[NodeTimes], recorded: NodeTimes | None, predicted: NodeTimes | None
) -> Iterator[OperationTimes]:
    collective = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    message = np.flatnonzero(np.isin(workload.kind, (NodeKind.SEND, NodeKind.RECEIVE)))

    def means(rows: _Column, count: int, times: NodeTimes | None) -> _Column:
        if times is None:
            return np.full(count, -1)
        return transfer_times(workload.operand[rows], times.start_ps[rows], times.finish_ps[rows], count)

    for rows, keys in ((collective, _collective_keys(workload)), (message, _message_keys(workload))):
        measured = np.array([means(rows, len(keys), times) for times in replayed])
        others = [means(rows, len(keys), times) for times in (recorded, predicted)]
        members: dict[tuple[str, str, tuple[int, ...], int], list[int]] = {}
        for number, key in enumerate(keys):
            members.setdefault(key, []).append(number)
        for (kind, group, ranks, size), numbers in members.items():
            times = measured[:, numbers].ravel()
            mean = int(times.mean())
            algbw = size * 10**12 / mean if size and mean else None
            recorded_ps, predicted_ps = (_mean(other[numbers]) for other in others)
            yield OperationTimes(
                kind=kind,
                group=group,
                ranks=ranks,
                size_bytes=size,
                count=len(numbers),
                measured_ps=mean,
                median_ps=int(np.percentile(times, 50)),
                p95_ps=int(np.percentile(times, 95)),
                recorded_ps=recorded_ps,
                predicted_ps=predicted_ps,
                algbw=algbw,
                busbw=None if algbw is None else algbw * bus_factor(kind, len(ranks)),
            )


def _mean(times: _Column) -> int | None:
    known = times[times >= 0]
    return int(known.mean()) if len(known) else None


def _collective_keys(workload: Workload) -> list[tuple[str, str, tuple[int, ...], int]]:
    return [
        (
            workload.calls[call].kind,
            workload.groups[group],
            workload.calls[call].group,
            0 if workload.calls[call].kind == BARRIER else workload.calls[call].size_bytes,
        )
        for call, group in zip(workload.call_of.tolist(), workload.group_of.tolist(), strict=True)
    ]


def _message_keys(workload: Workload) -> list[tuple[str, str, tuple[int, ...], int]]:
    columns = (workload.message_src, workload.message_dst, workload.message_bytes)
    return [
        (MESSAGE, f"{src}->{dst}", (src, dst), size)
        for src, dst, size in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _lateness(workload: Workload, replayed: list[NodeTimes]) -> tuple[_Column, _Column]:
    """Of each rank: how often it came last to a collective, and by how much, in ps, over all iterations."""
    last, delay = np.zeros(workload.num_ranks, np.int64), np.zeros(workload.num_ranks, np.int64)
    rows = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    instance, rank = workload.operand[rows], workload.rank[rows]
    for times in replayed:
        start = times.start_ps[rows]
        order = np.lexsort((start, instance))
        latest = np.flatnonzero(np.concatenate([instance[order][1:] != instance[order][:-1], [True]])[: len(order)])
        alone = np.concatenate([[True], instance[order][1:] != instance[order][:-1]])[latest]
        latest = latest[~alone]
        who = rank[order][latest]
        np.add.at(last, who, 1)
        np.add.at(delay, who, start[order][latest] - start[order][latest - 1])
    return last, delay
