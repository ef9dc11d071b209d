"""Collectives that are spelled out among the nodes of a job, and what came of them folded back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.simulator.outcome import Outcome
from hocket.simulator.spelled_out import SpelledOut
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["Expansion"]

_MAX_NODES = 1 << 25  # 200 B each
#: What a workload says of messages and accesses.
_COLUMNS = (
    *("message_src", "message_dst", "message_tag", "message_bytes"),
    *("message_priority", "message_crossing", "message_channel"),
    *("access_memory", "access_service_ps", "access_latency_ps"),
)
_Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Instances:
    """Collective instances `numbers` of one call follow `spelled`; their members' parts begin after the rows `begin`
    and are done with the rows `done` (instances x members)."""

    spelled: SpelledOut
    numbers: _Ids
    begin: _Ids
    done: _Ids

    @cached_property
    def _member(self) -> _Ids:
        """Whose each node of the call is."""
        offset = self.spelled.workload.rank_offset
        return np.repeat(np.arange(len(offset) - 1), np.diff(offset))

    @property
    def rows(self) -> _Ids:
        """Of the call's nodes (instances x nodes)."""
        member = self._member
        return self.begin[:, member] + 1 + np.arange(len(member)) - self.spelled.workload.rank_offset[member]

    def each(self, values: NDArray[np.generic], count: int) -> _Ids:
        """Numbers of what an instance has `count` of, for each instance (instances x values)."""
        return values.astype(np.int64) + np.arange(len(self.numbers))[:, None] * count

    def edges(self) -> tuple[list[_Ids], list[_Ids]]:
        """Rows, and rows that wait for them. A part begins with what waits for nothing of its own, and is done with
        what nothing of its own waits for."""
        sub, member, row = self.spelled.workload, self._member, self.rows
        waiting = np.repeat(np.arange(len(member)), np.diff(sub.dependency_offset))
        own = member[waiting] == member[sub.dependency]
        starts = np.flatnonzero(np.bincount(waiting[own], minlength=len(member)) == 0)
        ends = np.flatnonzero(np.bincount(sub.dependency[own], minlength=len(member)) == 0)
        return (
            [row[:, sub.dependency], self.begin[:, member[starts]], row[:, ends], self.begin],
            [row[:, waiting], row[:, starts], self.done[:, member[ends]], self.done],
        )


class Expansion:
    """A placed workload in which the calls (by number) that are `spelled_out` are the nodes of that.

    A member's node of such a collective becomes the moment at which it is done, after one at which it begins and those
    of its part. A GPU's works of all kernels take turns, apart from the memories of the job. Raises SimulationError
    where there would be too many nodes.
    """

    def __init__(self, workload: Workload, spelled_out: Mapping[int, SpelledOut]) -> None:
        self._whole, self._spelled = workload, spelled_out
        instance = np.where(workload.kind == NodeKind.COLLECTIVE, workload.operand, -1)
        self._is_spelled = np.isin(workload.call_of, list(spelled_out))
        rows = np.flatnonzero((instance >= 0) & self._is_spelled[instance])
        self._rows = rows[np.lexsort((workload.member[rows], instance[rows]))]  # members' nodes, by instance and member
        self._instance = instance[self._rows]
        extra = np.ones(len(self._rows), np.int64)
        total = len(instance) + len(extra)
        for call, _, members in self._complete:
            sizes = np.diff(spelled_out[call].workload.rank_offset)
            total += len(members) * int(sizes.sum())
            if total > _MAX_NODES:
                raise SimulationError(
                    f"collectives that are spelled out, such as {len(members)} x {workload.calls[call].kind} by"
                    f" {spelled_out[call].algorithm} of {sizes.sum()} messages and steps, are more than the"
                    f" {_MAX_NODES} that fit; let them take the time of a model (--algorithm nccl-model), or other"
                    " algorithms"
                )
            extra[members] += sizes
        before = np.zeros(len(instance), np.int64)
        before[self._rows] = extra
        before = np.cumsum(before)
        self._row = np.arange(len(instance)) + before  # of each node, in the workload that is run
        self._begin = self._row[self._rows] - extra
        self._total = total
        self._offset = workload.rank_offset + np.append(0, before)[workload.rank_offset]

    @cached_property
    def _complete(self) -> list[tuple[int, _Ids, _Ids]]:
        """Each call that is spelled out, its instances, and where their members are in `_rows` (instances x members);
        without instances that lack members and so never begin."""
        numbers, first, count = np.unique(self._instance, return_index=True, return_counts=True)
        calls, sizes = self._whole.call_of[numbers], self._whole.plan_members.tolist()
        found = []
        for call in np.unique(calls).tolist():
            size = sizes[call]
            these = np.flatnonzero((calls == call) & (count == size))
            if len(these):
                found.append((call, numbers[these], first[these, None] + np.arange(size)))
        return found

    @cached_property
    def _instances(self) -> tuple[_Instances, ...]:
        done = self._row[self._rows]
        return tuple(
            _Instances(self._spelled[call], numbers, self._begin[members], done[members])
            for call, numbers, members in self._complete
        )

    @cached_property
    def workload(self) -> Workload:
        """What is run."""
        whole = self._whole
        kind, operand, member = (np.zeros(self._total, np.int64) for _ in range(3))
        kind[self._row], operand[self._row], member[self._row] = whole.kind, whole.operand, whole.member
        kept = np.cumsum(~self._is_spelled) - 1
        kind[self._row[self._rows]] = operand[self._row[self._rows]] = NodeKind.NOTHING
        stays = np.flatnonzero(kind == NodeKind.COLLECTIVE)
        operand[stays] = kept[operand[stays]]
        # columns of all messages and accesses, those of what is spelled out behind the job's own
        columns: dict[str, list[NDArray[Any]]] = {name: [getattr(whole, name)] for name in _COLUMNS}
        before, after = self._edges_of_the_job()
        messages, accesses, crossings = len(whole.message_bytes), len(whole.access_memory), [*whole.crossings]
        channels = whole.message_channel.max(initial=-1) + 1
        for these in self._instances:
            sub, rows, numbers = these.spelled.workload, these.rows, these.numbers
            sent, accessed = np.isin(sub.kind, (NodeKind.SEND, NodeKind.RECEIVE)), sub.kind == NodeKind.MEMORY
            kind[rows], operand[rows] = sub.kind, sub.operand
            operand[rows[:, sent]] = messages + these.each(sub.operand[sent], len(sub.message_bytes))
            operand[rows[:, accessed]] = accesses + these.each(sub.operand[accessed], len(sub.access_memory))
            group = whole.calls[whole.call_of[numbers[0]]].members
            src, dst = these.spelled.ends(group)
            for name in _COLUMNS:
                columns[name].append(np.tile(getattr(sub, name), len(numbers)))
            ranks = np.searchsorted(self._offset, these.begin, side="right") - 1
            columns["message_src"][-1], columns["message_dst"][-1] = (
                np.tile(src, len(numbers)),
                np.tile(dst, len(numbers)),
            )
            columns["message_priority"][-1] = np.repeat(whole.call_priority[numbers], len(src))
            crossing = np.where(sub.message_crossing >= 0, sub.message_crossing + len(crossings), -1)
            columns["message_crossing"][-1] = np.tile(crossing, len(numbers))
            crossings += these.spelled.crossings(group)
            # each instance has connections of its own
            channel = sub.message_channel - sub.message_channel.min(initial=0)
            own = channels + these.each(channel, channel.max(initial=-1) + 1)
            columns["message_channel"][-1], channels = own.ravel(), own.max(initial=channels - 1) + 1
            columns["access_memory"][-1] = whole.num_ranks + ranks[:, sub.access_memory].ravel()
            messages, accesses = messages + len(numbers) * len(src), accesses + len(numbers) * len(sub.access_memory)
            first, then = these.edges()
            before += first
            after += then
        stay = [number for number in range(len(whole.calls)) if number not in self._spelled]
        offset, dependency = _waits(before, after, self._total)
        joined: dict[str, Any] = {name: np.concatenate(parts).astype(parts[0].dtype) for name, parts in columns.items()}
        return replace(
            whole,
            rank_offset=self._offset,
            kind=kind.astype(np.uint8),
            operand=operand,
            member=member.astype(np.int32),
            dependency_offset=offset,
            dependency=dependency,
            calls=tuple(whole.calls[number] for number in stay),
            call_of=np.searchsorted(stay, whole.call_of[~self._is_spelled]).astype(np.int32),
            group_of=whole.group_of[~self._is_spelled],
            call_priority=whole.call_priority[~self._is_spelled],
            **joined,
            crossings=tuple(crossings),
            replicas=None if whole.replicas is None else whole.replicas.of_calls(stay),
        )

    def _edges_of_the_job(self) -> tuple[list[_Ids], list[_Ids]]:
        """Rows, and rows that wait for them: a collective that is spelled out begins after what it waits for, and of
        one that lacks members nobody is ever done."""
        whole = self._whole
        waits = self._row.copy()
        waits[self._rows] = self._begin
        lacking = np.ones(len(self._rows), bool)
        for _, _, members in self._complete:
            lacking[members] = False
        never = self._row[self._rows[lacking]]
        return (
            [self._row[whole.dependency], never],
            [np.repeat(waits, np.diff(whole.dependency_offset)), never],
        )

    def folded_back(self, outcome: Outcome) -> Outcome:
        """The outcome by the nodes and collectives of the job. Raises ScheduleError where the first call of a kernel
        did not bring what it should have."""
        for these in self._instances:
            row = these.rows[0]
            if (outcome.finish_ps[row] >= 0).all():
                these.spelled.verify(outcome.start_ps[row], outcome.finish_ps[row])
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
        none = np.zeros(0, np.int64)
        numbers = np.concatenate([none, *(these.numbers for these in self._instances)])
        sizes = [np.full(len(these.numbers), len(these.spelled.workload.message_bytes)) for these in self._instances]
        messages = len(self._whole.message_bytes)
        end = messages + np.cumsum(np.concatenate([none, *sizes]))
        ours = (outcome.occupancy_collective < 0) & (outcome.occupancy_message >= messages)
        which = np.searchsorted(end, outcome.occupancy_message[ours], side="right")
        collective = np.append(np.flatnonzero(~self._is_spelled), -1)[outcome.occupancy_collective]
        message = outcome.occupancy_message.copy()
        collective[ours] = numbers[which]
        message[ours] -= np.append(messages, end)[which]
        return collective.astype(np.int32), message


def _waits(before: list[_Ids], after: list[_Ids], rows: int) -> tuple[_Ids, _Ids]:
    """CSR of what each of so many rows waits for."""
    first, then = (np.concatenate([part.ravel() for part in parts]) for parts in (before, after))
    order = np.argsort(then, kind="stable")
    return np.searchsorted(then[order], np.arange(rows + 1)), first[order]
