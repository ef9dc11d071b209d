"""What traces recorded of when their nodes ran, beside the workload that is made of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.chakra import TraceSet
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["COMMUNICATES", "NodeTimes", "recorded_times", "transfer_times"]

COMMUNICATES = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)


@dataclass(frozen=True, eq=False)
class NodeTimes:
    """When each node of the workload began and ended (int64 ps, -1 where that is not known), from one source."""

    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        return (self.start_ps >= 0) & (self.finish_ps >= 0)


def recorded_times(traces: TraceSet, workload: Workload) -> NodeTimes | None:
    """What the traces tell, from the first node's start on; None where no communication has a duration: nobody ran
    them."""
    columns = []
    for name in ("start_us", "duration_ns"):
        parts = [getattr(trace, name)[np.argsort(trace.id, kind="stable")].astype(np.int64) for trace in traces.traces]
        columns.append(np.concatenate(parts))
    start, duration = columns[0] * 10**6, columns[1] * 1000
    communicates = np.isin(workload.kind, COMMUNICATES)
    if not duration[communicates].any():
        return None
    start -= start.min()
    finish = np.where(communicates & (duration == 0), -1, start + duration)
    return NodeTimes(start, finish)


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
