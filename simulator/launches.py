"""Nodes of a job that take a while to begin, such as messages whose kernel has to be launched first."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.steps import NO_STEP
from hocket.simulator.outcome import Outcome
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["Launches"]


class Launches:
    """A workload in which nodes begin `delay_ps` (int64, one a node) after all that they wait for: a node of its own
    before each of them, in which its rank and links do what they like."""

    def __init__(self, workload: Workload, delay_ps: NDArray[np.int64]) -> None:
        self._whole = workload
        self._rows = np.flatnonzero(delay_ps)
        self._delay_ps = delay_ps[self._rows]
        before = np.zeros(len(delay_ps), np.int64)
        before[self._rows] = 1
        before = np.cumsum(before)
        self._row = np.arange(len(delay_ps)) + before  # of each node, in the workload that is run
        self._total = len(delay_ps) + len(self._rows)
        self._offset = workload.rank_offset + np.append(0, before)[workload.rank_offset]

    @cached_property
    def _begin(self) -> NDArray[np.int64]:
        """The row at which each node begins."""
        begin = self._row.copy()
        begin[self._rows] -= 1
        return begin

    @cached_property
    def workload(self) -> Workload:
        """What is run."""
        whole, begin = self._whole, self._begin
        delays = begin[self._rows]
        kind = np.full(self._total, NodeKind.DELAY, np.uint8)
        operand, member, name = (np.zeros(self._total, np.int64) for _ in range(3))
        node_id, step = np.zeros(self._total, np.uint64), np.full(self._total, NO_STEP, np.int64)
        for column, values in (
            (kind, whole.kind),
            (operand, whole.operand),
            (member, whole.member),
            (name, whole.name),
        ):
            column[self._row] = values
        node_id[self._row], step[self._row] = whole.node_id, whole.step
        operand[delays] = self._delay_ps
        waits = np.zeros(self._total, np.int64)
        waits[begin] = np.diff(whole.dependency_offset)
        waits[self._row[self._rows]] = 1
        offset = np.append(0, np.cumsum(waits))
        dependency = np.zeros(offset[-1], np.int64)
        own = np.zeros(len(dependency), np.bool_)
        own[offset[self._row[self._rows]]] = True
        dependency[own], dependency[~own] = delays, self._row[whole.dependency]
        return replace(
            whole,
            rank_offset=self._offset,
            kind=kind,
            operand=operand,
            member=member.astype(np.int32),
            node_id=node_id,
            name=name.astype(np.int32),
            step=step,
            dependency_offset=offset,
            dependency=dependency,
        )

    def folded_back(self, outcome: Outcome) -> Outcome:
        """The outcome by the nodes of the job."""
        node = np.zeros(self._total, np.int64)
        node[self._begin] = node[self._row] = np.arange(len(self._row))
        return replace(
            outcome,
            start_ps=outcome.start_ps[self._begin],
            finish_ps=outcome.finish_ps[self._row],
            cause=node[outcome.cause[self._row]].astype(np.int32),
        )
