"""Ordered operations written down as the steps of thread blocks."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket._core import translator as engine
from hocket.schedule import BUFFERS, STEP_ROW, Program, Step, Steps, StepType, ThreadBlock
from hocket.translator.lowering.fusion import Fusion
from hocket.translator.lowering.operations import Operations
from hocket.translator.msccl.columns import MAX_FUSED

__all__ = ["Emission"]

#: Operations times thread blocks beyond which dependencies that messages imply are kept: finding them takes seconds.
MAX_CLOCK_ENTRIES = 1 << 29
_TYPES = list(StepType)
_NOP = Steps.of([Step(StepType.NOP, "i", -1, "o", -1, 0)]).rows[0]
# of a receive that a send follows, by whether nobody reads what it would store
_FORWARDING = {
    StepType.RECEIVE: (StepType.RECEIVE_COPY_SEND, StepType.RECEIVE_COPY_SEND),
    StepType.RECEIVE_REDUCE_COPY: (StepType.RECEIVE_REDUCE_COPY_SEND, StepType.RECEIVE_REDUCE_SEND),
}
_FORWARDED = np.array([[_TYPES.index(kind) for kind in _FORWARDING.get(each, (each, each))] for each in _TYPES])


class Emission:
    """Operations in the engine's global order, and the program that lists them: `shape`, which has no thread blocks
    yet, with such. `room`: as in `Fusion`. Raises ScheduleError if there is no order.

    A step carries one dependency; further ones go on nops before it. A receive and the send of the same chunks that
    follows it in its thread block become one step (`Fusion`).
    """

    def __init__(self, table: Operations, shape: Program, room: int) -> None:
        self._table, self._shape = table, shape
        order, first_wait, waits = engine.lower(
            num_ranks=shape.num_ranks,
            num_blocks=len(table.blocks),
            block=table.block.astype(np.int32),
            rank=table.rank.astype(np.int32),
            count=table.count.astype(np.int32),
            reads=table.reads,
            writes=table.writes,
            message=table.message,
            after=table.after,
            priority=table.priority,
            max_clock_entries=MAX_CLOCK_ENTRIES,
        )
        listed = order[np.argsort(table.block[order], kind="stable")]
        fusion = Fusion(table, order, listed, room)
        steps = np.where(fusion.sends, 0, np.maximum(np.diff(first_wait), 1))
        # row of the step that completes each operation, and first row of each block
        self._row = np.empty(len(listed), np.int64)
        self._row[listed] = np.cumsum(steps[listed]) - 1
        listed_before = np.searchsorted(table.block[listed], np.arange(len(table.blocks) + 1))
        self._first_row = np.concatenate([[0], np.cumsum(steps[listed])])[listed_before]
        self._first_block = np.searchsorted(table.blocks[:, 0], np.arange(shape.num_ranks + 1))
        self._rows = np.full(self._first_row[-1], _NOP, STEP_ROW)
        awaited = np.isin(np.arange(len(order)), waits)
        awaited[listed[:-1]] |= awaited[listed[1:]] & fusion.sends[listed[1:]]
        self._write_steps(fusion, awaited)
        self._write_waits(fusion, first_wait, waits)
        self._rows["has_dependents"] |= self._ends_a_sum()

    def _write_steps(self, fusion: Fusion, awaited: NDArray[np.bool_]) -> None:
        table, done = self._table, np.flatnonzero(~fusion.sends)
        kind = np.where(fusion.receives, _FORWARDED[table.type, fusion.unkept.astype(int)], table.type)
        for field, values in (
            ("type", kind),
            ("src_buffer", table.src_buffer),
            ("src_offset", table.src_offset),
            ("dst_buffer", table.dst_buffer),
            ("dst_offset", table.dst_offset),
            ("count", table.count),
            ("has_dependents", awaited),
        ):
            self._rows[field][self._row[done]] = values[done]

    def _write_waits(self, fusion: Fusion, first_wait: NDArray[np.int64], waits: NDArray[np.int64]) -> None:
        """The dependencies of each operation, the last on its own step; a fused send waits for its receive alone."""
        waiting = np.repeat(np.arange(len(self._row)), np.diff(first_wait))
        kept = ~fusion.sends[waiting]
        waits, last = waits[kept], first_wait[waiting[kept] + 1] - 1
        carrier = self._row[waiting[kept]] - (last - np.flatnonzero(kept))
        block = self._table.block[waits]
        self._rows["depend_block"][carrier] = block - self._first_block[self._table.rank[waits]]
        self._rows["depend_step"][carrier] = self._row[waits] - self._first_row[block]

    def _ends_a_sum(self) -> NDArray[np.bool_]:
        """Local sums that must not become one with the next, as runtimes make of neighbours with one destination: every
        16th of a thread block, and those before a sum of another number of chunks. Runtimes end one at a step that
        others wait for."""
        rows, block = self._rows, np.repeat(np.arange(len(self._first_row) - 1), np.diff(self._first_row))
        sums: NDArray[np.bool_] = rows["type"] == _TYPES.index(StepType.REDUCE)
        counted = np.cumsum(sums)
        number = counted - np.append(0, counted)[self._first_row[block]]
        ends: NDArray[np.bool_] = sums & (number % MAX_FUSED == 0)
        ends[:-1] |= sums[:-1] & sums[1:] & (rows["count"][:-1] != rows["count"][1:])
        return ends

    def program(self) -> Program:
        """The program."""
        table, shape = self._table, self._shape
        stored = (table.writes >= 0) & (table.dst_buffer == BUFFERS.index("s"))
        scratch = np.zeros(shape.num_ranks, np.int64)
        np.maximum.at(scratch, table.rank[stored], (table.dst_offset + table.count)[stored])
        return replace(
            shape,
            num_channels=1 + int(table.blocks[:, 3].max(initial=0)),
            gpus=tuple(
                replace(gpu, scratch_chunks=size, thread_blocks=self._thread_blocks(rank))
                for rank, (gpu, size) in enumerate(zip(shape.gpus, scratch.tolist(), strict=True))
            ),
        )

    def _thread_blocks(self, rank: int) -> tuple[ThreadBlock, ...]:
        blocks = []
        for block in range(*self._first_block[rank : rank + 2]):
            _, send, receive, channel, _ = self._table.blocks[block].tolist()
            steps = Steps(self._rows[self._first_row[block] : self._first_row[block + 1]])
            blocks.append(ThreadBlock(send, receive, channel, steps))
        return tuple(blocks)
