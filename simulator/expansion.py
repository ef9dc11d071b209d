"""Collectives that follow programs, spelled out among the nodes of a job, and what came of them folded back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import SimulationError
from hocket.schedule import Collective, Passes, Program
from hocket.simulator.outcome import Outcome
from hocket.simulator.programs import program_workload
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["Expansion", "Programmed"]

_MAX_NODES = 1 << 26  # a few GB


@dataclass(frozen=True, eq=False)
class Programmed:
    """A program that a collective follows, rank r as its group's member r, and how the call is cut."""

    program: Program
    passes: Passes
    note: str | None = None
    relays: bool = False

    @property
    def algorithm(self) -> str:
        return self.program.name

    @cached_property
    def collective(self) -> Collective:
        return self.passes.collective(self.program)

    @cached_property
    def workload(self) -> Workload:
        return program_workload(self.program, self.passes)


class Expansion:
    """A placed workload in which the calls (by number) that follow `programs` are their programs' nodes.

    A member's node of such a collective becomes the moment at which it is done, after one at which it begins and those
    of its part. Raises SimulationError where there would be too many.
    """

    def __init__(self, workload: Workload, programs: Mapping[int, Programmed]) -> None:
        self._whole, self._programs = workload, programs
        instance = np.where(workload.kind == NodeKind.COLLECTIVE, workload.operand, -1)
        spelled = np.isin(workload.call_of, list(programs))
        self._rows = np.flatnonzero((instance >= 0) & spelled[instance])  # members' nodes
        self._instance = instance[self._rows]
        self._kept = np.flatnonzero(~spelled)  # instances that stay collectives
        extra = np.zeros(len(instance), np.int64)
        extra[self._rows] = [1 + self._part(row).stop - self._part(row).start for row in range(len(self._rows))]
        if len(instance) + extra.sum() > _MAX_NODES:
            raise SimulationError(
                f"{len(self._rows)} parts in collectives that follow programs have {extra.sum()} nodes, more than the"
                f" {_MAX_NODES} that fit; take algorithms for them"
            )
        before = np.cumsum(extra)
        self._row = np.arange(len(instance)) + before  # of each node, in the workload that is run
        self._begin = self._row[self._rows] - extra[self._rows]
        self._total = len(instance) + int(extra.sum())
        self._offset = workload.rank_offset + np.append(0, before)[workload.rank_offset]

    def _part(self, at: int) -> slice:
        """Rows of a member's part in its program's workload."""
        member = int(self._whole.member[self._rows[at]])
        offset = self._sub(at).rank_offset
        return slice(int(offset[member]), int(offset[member + 1]))

    def _sub(self, at: int) -> Workload:
        return self._programs[int(self._whole.call_of[self._instance[at]])].workload

    @cached_property
    def workload(self) -> Workload:
        """What is run."""
        whole = self._whole
        kind, operand, member = (np.zeros(self._total, np.int64) for _ in range(3))
        kind[self._row], operand[self._row], member[self._row] = whole.kind, whole.operand, whole.member
        kept = np.full(len(whole.call_of), -1)
        kept[self._kept] = np.arange(len(self._kept))
        kind[self._row[self._rows]] = operand[self._row[self._rows]] = NodeKind.NOTHING
        stays = np.flatnonzero(kind == NodeKind.COLLECTIVE)
        operand[stays] = kept[operand[stays]]
        stay = [number for number in range(len(whole.calls)) if number not in self._programs]
        messages = [whole]  # columns of all messages, those of programs behind the job's own
        source, destination = [whole.message_src], [whole.message_dst]
        priority = [whole.message_priority]
        first_message = {}
        count = len(whole.message_bytes)
        for number, at in zip(*np.unique(self._instance, return_index=True), strict=True):
            sub, group = self._sub(int(at)), whole.calls[whole.call_of[number]].members
            messages.append(sub)
            source.append(group[sub.message_src])
            destination.append(group[sub.message_dst])
            priority.append(np.full(len(sub.message_bytes), whole.call_priority[number]))
            first_message[int(number)] = count
            count += len(sub.message_bytes)
        before, after = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._connect_job(before, after)
        for at in range(len(self._rows)):
            self._fill(at, kind, operand, first_message[int(self._instance[at])])
        for at in np.unique(self._instance, return_index=True)[1].tolist():
            self._connect_program(at, before, after)
        first, then = np.concatenate(before), np.concatenate(after)
        order = np.argsort(then, kind="stable")
        return replace(
            whole,
            rank_offset=self._offset,
            kind=kind.astype(np.uint8),
            operand=operand,
            member=member.astype(np.int32),
            dependency_offset=np.searchsorted(then[order], np.arange(self._total + 1)),
            dependency=first[order],
            calls=tuple(call for number, call in enumerate(whole.calls) if number not in self._programs),
            call_of=np.searchsorted(stay, whole.call_of[self._kept]).astype(np.int32),
            group_of=whole.group_of[self._kept],
            call_priority=whole.call_priority[self._kept],
            message_src=np.concatenate(source).astype(np.int32),
            message_dst=np.concatenate(destination).astype(np.int32),
            message_tag=np.concatenate([each.message_tag for each in messages]),
            message_bytes=np.concatenate([each.message_bytes for each in messages]),
            message_priority=np.concatenate(priority).astype(np.int32),
        )

    def _fill(self, at: int, kind: NDArray[np.int64], operand: NDArray[np.int64], first_message: int) -> None:
        """The nodes of a member's part."""
        sub, part = self._sub(at), self._part(at)
        here = slice(int(self._begin[at]) + 1, int(self._begin[at]) + 1 + part.stop - part.start)
        kind[here] = sub.kind[part]
        carries = np.isin(sub.kind[part], (NodeKind.SEND, NodeKind.RECEIVE))
        operand[here] = sub.operand[part] + np.where(carries, first_message, 0)

    def _connect_job(self, before: list[NDArray[np.int64]], after: list[NDArray[np.int64]]) -> None:
        """What a job's nodes wait for; a collective that is spelled out begins after it."""
        whole = self._whole
        waits = self._row.copy()
        waits[self._rows] = self._begin
        before.append(self._row[whole.dependency])
        after.append(np.repeat(waits, np.diff(whole.dependency_offset)))

    def _connect_program(self, at: int, before: list[NDArray[np.int64]], after: list[NDArray[np.int64]]) -> None:
        """What the nodes of a collective wait for, of which `at` is one member's."""
        sub = self._sub(at)
        members = np.flatnonzero(self._instance == self._instance[at])
        members = members[np.argsort(self._whole.member[self._rows[members]])]
        sizes = np.diff(sub.rank_offset)
        rank = np.repeat(np.arange(len(members)), sizes)
        row = self._begin[members][rank] + 1 + np.arange(len(rank)) - sub.rank_offset[rank]
        waiting = np.repeat(np.arange(len(row)), np.diff(sub.dependency_offset))
        starts = np.flatnonzero(np.diff(sub.dependency_offset) == 0)
        ends = np.flatnonzero(np.bincount(sub.dependency, minlength=len(row)) == 0)
        done = self._row[self._rows[members]]
        before += [row[sub.dependency], self._begin[members][rank[starts]], row[ends], self._begin[members]]
        after += [row[waiting], row[starts], done[rank[ends]], done]

    def folded_back(self, outcome: Outcome) -> Outcome:
        """The outcome by the nodes and collectives of the job."""
        start = outcome.start_ps[self._row]
        start[self._rows] = outcome.start_ps[self._begin]
        owner = np.zeros(self._total, np.int64)
        owner[self._row] = np.arange(len(self._row))
        for begin, row in zip(self._begin.tolist(), self._rows.tolist(), strict=True):
            owner[begin : self._row[row]] = row
        cause = owner[outcome.cause[self._row]]
        late = np.full(len(self._whole.call_of), -1)
        by_start = np.argsort(start[self._rows], kind="stable")
        late[self._instance[by_start]] = self._rows[by_start]  # the last of each instance stays
        last = late[self._instance]
        cause[self._rows] = np.where(start[last] > start[self._rows], last, self._rows)
        collective, message = self._occupancy(outcome)
        return replace(
            outcome,
            start_ps=start,
            finish_ps=outcome.finish_ps[self._row],
            cause=cause.astype(np.int32),
            occupancy_collective=collective,
            occupancy_message=message,
        )

    def _occupancy(self, outcome: Outcome) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Which collective, and which message, the links' records are of."""
        messages = len(self._whole.message_bytes)
        numbers, at = np.unique(self._instance, return_index=True)
        sizes = [len(self._sub(int(each)).message_bytes) for each in at]
        first = messages + np.cumsum([0, *sizes])[:-1]
        ours = (outcome.occupancy_collective < 0) & (outcome.occupancy_message >= messages)
        which = np.searchsorted(first, outcome.occupancy_message, side="right") - 1
        kept = np.append(self._kept, -1)[outcome.occupancy_collective]
        own = np.where(ours, outcome.occupancy_message - first[which], outcome.occupancy_message)
        return np.where(ours, numbers[which], kept).astype(np.int32), own.astype(np.int32)
