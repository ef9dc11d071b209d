"""What traces recorded of when their nodes ran, beside the workload that is made of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import TraceSet
from hocket.simulator.workload import NodeKind, Workload

__all__ = [
    "CLOCK_GRAIN_PS",
    "COMMUNICATES",
    "NodeTimes",
    "TimesFault",
    "recorded_times",
    "times_fault",
    "transfer_times",
]

COMMUNICATES = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)
#: Traces tell starts in whole microseconds.
CLOCK_GRAIN_PS = 10**6


@dataclass(frozen=True, eq=False)
class NodeTimes:
    """When each node of the workload began and ended (int64 ps, -1 where that is not known), from one source."""

    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        return (self.start_ps >= 0) & (self.finish_ps >= 0)


@dataclass(frozen=True)
class TimesFault:
    """Why traces do not tell when their nodes ran, with the remedy; `rank` is whose trace does not (None: all)."""

    rank: int | None
    because: str


def times_fault(traces: TraceSet, workload: Workload) -> TimesFault | None:
    """None where the traces, of which the workload is made, tell when their nodes ran."""
    communicates = np.isin(workload.kind, COMMUNICATES)
    if not communicates.any():
        return TimesFault(
            None,
            "no node communicates, so there is nothing to hold against: operations whose size or group no profile told"
            " are computation here, or left out (hocket trace import names them, such as DeepEP's dispatch); import the"
            " profile again with --size NAME=BYTES and --group NAME=RANKS",
        )
    start_us, duration_ns = (_by_id(traces, name) for name in ("start_us", "duration_ns"))
    if not duration_ns[communicates].any():
        return TimesFault(
            None,
            "no communication has a recorded duration, so there is nothing to hold against: record the job with hocket"
            " collect, or import a profile of it",
        )
    for rank, (first, last) in enumerate(zip(workload.rank_offset[:-1], workload.rank_offset[1:], strict=True)):
        starts = start_us[first:last][duration_ns[first:last] > 0]
        if len(starts) > 1 and (starts == starts[0]).all():
            return TimesFault(
                rank,
                f"all {len(starts)} nodes that took time start at {starts[0]} us, so the trace does not tell when they"
                " ran, nor for whom a collective waited: record the job with hocket collect, import a profile of it,"
                " or keep start times (start_time_micros) where it was converted",
            )
    return None


def recorded_times(traces: TraceSet, workload: Workload) -> NodeTimes | None:
    """What the traces tell, from the first node's start on; None where they do not (`times_fault`)."""
    if times_fault(traces, workload):
        return None
    start, duration = _by_id(traces, "start_us") * 10**6, _by_id(traces, "duration_ns") * 1000
    start -= start.min()
    finish = np.where(np.isin(workload.kind, COMMUNICATES) & (duration == 0), -1, start + duration)
    return NodeTimes(start, finish)


def _by_id(traces: TraceSet, name: str) -> NDArray[np.int64]:
    """A column of all traces, in the order of the workload's rows."""
    parts = [getattr(trace, name)[np.argsort(trace.id, kind="stable")].astype(np.int64) for trace in traces.traces]
    return np.concatenate(parts)


def transfer_times(
    number: NDArray[np.int64], start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Of each of `count` operations that some nodes take part in, `number` of each node: the time from the last start
    to the last finish (int64 ps), -1 where a node's is not known."""
    last_start, last_finish = np.full(count, -1), np.full(count, -1)
    np.maximum.at(last_start, number, start_ps)
    np.maximum.at(last_finish, number, finish_ps)
    unknown = np.zeros(count, np.bool_)
    unknown[number[(start_ps < 0) | (finish_ps < 0)]] = True
    return np.where(unknown, -1, np.maximum(last_finish - last_start, 0))
