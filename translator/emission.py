"""Ordered operations written down as the steps of thread blocks."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hocket._core import translator as engine
from hocket.schedule import BUFFERS, Gpu, Step, StepType, ThreadBlock
from hocket.translator.fusion import Fusion
from hocket.translator.operations import Operations
from hocket.translator.placement import Placement

__all__ = ["Emission"]

_TYPES = list(StepType)
# of a receive that a send follows: whether nobody reads what it would store
_FORWARDING = {
    (StepType.RECEIVE, False): StepType.RECEIVE_COPY_SEND,
    (StepType.RECEIVE, True): StepType.RECEIVE_COPY_SEND,
    (StepType.RECEIVE_REDUCE_COPY, False): StepType.RECEIVE_REDUCE_COPY_SEND,
    (StepType.RECEIVE_REDUCE_COPY, True): StepType.RECEIVE_REDUCE_SEND,
}


class Emission:
    """Operations in the engine's global order, and the GPUs that list them. Raises ScheduleError if there is no order.

    A step carries one dependency; further ones go on nops before it. A receive and the send of the same chunks that
    follows it in its thread block become one step (`Fusion`).
    """

    def __init__(self, table: Operations, placement: Placement) -> None:
        self._table = table
        self._placement = placement
        num_ranks = placement.collective.num_ranks
        order, first_wait, waits = engine.lower(
            num_ranks=num_ranks,
            num_blocks=len(table.blocks),
            block=table.block.astype(np.int32),
            rank=table.rank.astype(np.int32),
            count=table.count.astype(np.int32),
            reads=table.reads,
            writes=table.writes,
            message=table.message,
            after=table.after,
            priority=table.priority,
        )
        listed = order[np.argsort(table.block[order], kind="stable")]
        first_listed = np.searchsorted(table.block[listed], np.arange(len(table.blocks) + 1))
        self._fusion = Fusion(table, order, listed)
        self._position = _positions(listed, first_listed, np.diff(first_wait), self._fusion.sends)
        self._awaited = np.isin(np.arange(len(order)), waits)
        self._awaited[listed[:-1]] |= self._awaited[listed[1:]] & self._fusion.sends[listed[1:]]
        self._waits = [waits[first:last].tolist() for first, last in pairwise(first_wait)]
        self._listed = [listed[first:last].tolist() for first, last in pairwise(first_listed)]
        self._first_block = np.searchsorted([block.rank for block in table.blocks], np.arange(num_ranks + 1))

    def gpu(self, rank: int) -> Gpu:
        """The rank's buffers and thread blocks."""
        inputs, outputs = self._placement.user_chunks(rank)
        blocks = []
        for block in range(self._first_block[rank], self._first_block[rank + 1]):
            place = self._table.blocks[block]
            steps = tuple(step for operation in self._listed[block] for step in self._steps(operation))
            blocks.append(ThreadBlock(place.send, place.receive, place.channel, steps))
        return Gpu(inputs, outputs, self._scratch(rank), tuple(blocks))

    def _scratch(self, rank: int) -> int:
        """Chunks of scratch in which the placement keeps chunks."""
        table = self._table
        kept = (table.rank == rank) & (table.writes >= 0) & (table.dst_buffer == BUFFERS.index("s"))
        return int((table.dst_offset + table.count)[kept].max(initial=0))

    def _steps(self, operation: int) -> Iterator[Step]:
        """The operation's step, after nops that wait for all but the last of what it waits for."""
        if self._fusion.sends[operation]:
            return
        table = self._table
        kind, count = _TYPES[table.type[operation]], int(table.count[operation])
        source = (BUFFERS[table.src_buffer[operation]], int(table.src_offset[operation]))
        target = (BUFFERS[table.dst_buffer[operation]], int(table.dst_offset[operation]))
        if self._fusion.receives[operation]:
            kind = _FORWARDING[kind, bool(self._fusion.unkept[operation])]
        waits = [self._place(other) for other in self._waits[operation]]
        for block, position in waits[:-1]:
            yield Step(StepType.NOP, "i", -1, "o", -1, 0, block, position)
        block, position = waits[-1] if waits else (-1, -1)
        yield Step(kind, *source, *target, count, block, position, bool(self._awaited[operation]))

    def _place(self, operation: int) -> tuple[int, int]:
        """Thread block (numbered within its rank) and position of the step that completes an operation."""
        block = self._table.block[operation]
        return int(block - self._first_block[self._table.blocks[block].rank]), int(self._position[operation])


def _positions(
    listed: NDArray[np.int64],
    first_listed: NDArray[np.int64],
    num_waits: NDArray[np.int64],
    fused: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Position, in its thread block, of the step that completes each operation."""
    steps = np.where(fused, 0, 1 + np.maximum(num_waits - 1, 0))
    end = np.cumsum(steps[listed])
    before_block = np.concatenate([[0], end])[first_listed[:-1]]
    position = np.empty(len(listed), np.int64)
    position[listed] = end - 1 - np.repeat(before_block, np.diff(first_listed))
    return position
