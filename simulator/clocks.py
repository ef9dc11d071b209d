"""Whether the ranks of a recording tell their times by one clock."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER, NAMED_KINDS
from hocket.simulator.recorded_times import CLOCK_GRAIN_PS, NodeTimes
from hocket.simulator.workload import CollectiveCall, NodeKind, Workload

__all__ = ["ClockCheck", "clock_check"]

#: Kinds that no rank leaves before all have entered.
_TOGETHER = {BARRIER, *(str(kind) for kind in NAMED_KINDS if not kind.rooted)}


@dataclass(frozen=True)
class ClockCheck:
    """Of `checked` collectives that no member can leave before all have entered, by the recorded times one had left
    `apart` before another entered: by their clocks most often rank `ahead` after `behind`, in the median `gap_ps`."""

    checked: int
    apart: int
    behind: int = 0
    ahead: int = 0
    gap_ps: int = 0

    @property
    def share(self) -> float:
        return self.apart / max(self.checked, 1)


def clock_check(workload: Workload, times: NodeTimes, recorded: NDArray[np.bool_]) -> ClockCheck:
    """Holds the times of those ranks against one another that are `recorded` (mask over ranks)."""
    together = np.array([_waits_for_all(call) for call in workload.calls])
    rows = np.flatnonzero((workload.kind == NodeKind.COLLECTIVE) & times.known & recorded[workload.rank])
    if len(rows):
        rows = rows[together[workload.call_of[workload.operand[rows]]]]
    number, rank = workload.operand[rows], workload.rank[rows]
    enter, leave = (_last_of_each(number, column[rows]) for column in (times.start_ps, -times.finish_ps))
    checked = np.bincount(number)[np.unique(number)] > 1
    gap = (times.start_ps[rows][enter] - times.finish_ps[rows][leave])[checked]
    apart = gap > CLOCK_GRAIN_PS
    if not apart.any():
        return ClockCheck(int(checked.sum()), 0)
    pairs = np.stack([rank[leave][checked][apart], rank[enter][checked][apart]], axis=1)
    which, pair, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    most = int(count.argmax())
    median = int(np.median(gap[apart][pair.ravel() == most]))
    behind, ahead = which[most].tolist()
    return ClockCheck(int(checked.sum()), int(apart.sum()), behind, ahead, median)


def _waits_for_all(call: CollectiveCall) -> bool:
    """Whether nobody leaves before all have entered; with blocks of several sizes some may have nothing to wait for."""
    return call.kind in _TOGETHER and call.block_bytes is None and (call.size_bytes > 0 or call.kind == BARRIER)


def _last_of_each(number: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each number, ascending, where its greatest value is."""
    order = np.lexsort((value, number))
    return order[np.append(number[order][1:] != number[order][:-1], True)] if len(order) else order
