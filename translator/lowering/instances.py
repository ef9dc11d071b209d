"""Several instances of a program beside each other, each on a part of every chunk."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, STEP_ROW, Gpu, Program, Steps, StepType, ThreadBlock

__all__ = ["part_chunks", "replicate"]

_READS = np.array([kind.reads for kind in StepType])
_WRITES = np.array([kind.writes for kind in StepType])


def part_chunks(program: Program) -> int:
    """Chunks of a rank's part of the buffers; of the whole buffer, where ranks have none of their own."""
    return program.chunks_per_loop // (1 if program.kind.shares_buffer else program.num_ranks)


def replicate(program: Program, instances: int) -> Program:
    """The program `instances` times beside itself: instance i does the i-th part of each rank's part of the buffers
    (`part_chunks`), with thread blocks and channels of its own. No step may reach over several parts: it would have no
    place that is contiguous in an instance.

    One thread block moves a part of a wide link's bandwidth only; more of them move more.
    """
    part = part_chunks(program)
    return replace(
        program,
        chunks_per_loop=program.chunks_per_loop * instances,
        num_channels=program.num_channels * instances,
        gpus=tuple(_Replicas(program, rank, part, instances).gpu() for rank in range(program.num_ranks)),
    )


class _Replicas:
    """The parts of one rank; steps of all its thread blocks are changed at once."""

    def __init__(self, program: Program, rank: int, part: int, instances: int) -> None:
        self._program = program
        self._gpu = program.gpus[rank]
        self._part = part
        self._instances = instances

    def gpu(self) -> Gpu:
        gpu, times = self._gpu, self._instances
        blocks = tuple(block for instance in range(times) for block in self._blocks(instance))
        return Gpu(gpu.input_chunks * times, gpu.output_chunks * times, gpu.scratch_chunks * times, blocks)

    @cached_property
    def _rows(self) -> NDArray[np.void]:
        return np.concatenate([np.zeros(0, STEP_ROW), *(block.rows for block in self._gpu.thread_blocks)])

    def _blocks(self, instance: int) -> Iterator[ThreadBlock]:
        rows = self._rows.copy()
        # the end that a step does not use is a peer's place, for information only
        for end, uses in (("src", _READS), ("dst", _WRITES)):
            offset = rows[f"{end}_offset"]
            moved = uses[rows["type"]] & (offset >= 0)
            rows[f"{end}_offset"] = np.where(moved, self._offset(rows[f"{end}_buffer"], offset, instance), offset)
        waits = rows["depend_block"] >= 0
        rows["depend_block"] += np.where(waits, instance * len(self._gpu.thread_blocks), 0).astype(np.int32)
        first = 0
        for block in self._gpu.thread_blocks:
            end_of_block = first + len(block.steps)
            channel = block.channel + instance * self._program.num_channels
            yield ThreadBlock(block.send, block.receive, channel, Steps(rows[first:end_of_block]))
            first = end_of_block

    def _offset(self, buffer: NDArray[np.uint8], offset: NDArray[np.int32], instance: int) -> NDArray[np.int64]:
        part = np.where(buffer == BUFFERS.index("s"), max(self._gpu.scratch_chunks, 1), self._part)
        number, inside = np.divmod(offset, part)
        moved: NDArray[np.int64] = (number * self._instances + instance) * part + inside
        return moved
