"""A program as flat columns for the engine; the rules of its structure are checked on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.memory import Memory
from hocket.schedule.program import BUFFERS, Program, Steps, StepType, ThreadBlock

__all__ = ["FlatProgram"]

_NOP = list(StepType).index(StepType.NOP)
_NEVER_PUBLISHED = -2


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """All thread blocks of all ranks in one row (B, rank by rank), all their steps in one row (S).

    The columns for the engine raise ScheduleError when a step leaves its buffer, overwrites chunks that it still reads,
    lacks a peer or waits for a step that is not there, or when two thread blocks share one end of a connection.
    """

    program: Program
    memory: Memory

    @cached_property
    def blocks(self) -> tuple[ThreadBlock, ...]:
        return tuple(block for gpu in self.program.gpus for block in gpu.thread_blocks)

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.program.rows)

    @cached_property
    def first_block(self) -> NDArray[np.int64]:
        """First block of each rank, and B (length ranks + 1)."""
        return np.cumsum([0, *(len(gpu.thread_blocks) for gpu in self.program.gpus)], dtype=np.int64)

    @cached_property
    def first_step(self) -> NDArray[np.int64]:
        """First step of each block, and S (length B + 1)."""
        return np.cumsum([0, *(len(block.steps) for block in self.blocks)], dtype=np.int64)

    @cached_property
    def block_rank(self) -> NDArray[np.int32]:
        return np.repeat(np.arange(self.program.num_ranks, dtype=np.int32), np.diff(self.first_block))

    @cached_property
    def step_block(self) -> NDArray[np.int64]:
        """Block of each step (length S)."""
        return np.repeat(np.arange(len(self.blocks)), np.diff(self.first_step))

    @cached_property
    def type(self) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self.steps.rows["type"])

    @cached_property
    def count(self) -> NDArray[np.int64]:
        return self._column("count")

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """Location of the first chunk each step reads, 0 where it reads none."""
        return self._locations("src", [kind.reads for kind in StepType])

    @cached_property
    def destination(self) -> NDArray[np.int64]:
        """Location of the first chunk each step writes, 0 where it writes none."""
        destination = self._locations("dst", [kind.writes for kind in StepType])
        distance = np.abs(destination - self.source)
        both = self._of_type([kind.reads and kind.writes for kind in StepType])
        # the threads of a block move a step's chunks all at once, in no order
        self._refuse(
            both & (distance > 0) & (distance < self.count),
            lambda s: f"reads and writes {self.count[s]} chunks that overlap by {self.count[s] - distance[s]}",
        )
        return destination

    @cached_property
    def depends_on(self) -> NDArray[np.int64]:
        """The step each step really waits for: the first one that publishes, at or after the one it names.

        -1: none; -2: no step publishes there any more, so it waits for ever.
        """
        block, position = self._column("depend_block"), self._column("depend_step")
        waits = block >= 0
        rank = self.block_rank[self.step_block]
        exists = waits & (self.first_block[rank] + block < self.first_block[rank + 1]) & (position >= 0)
        target = np.where(exists, self.first_block[rank] + block, 0)
        exists &= position < np.diff(self.first_step)[target]
        self._refuse(
            waits & ~exists, lambda s: f"waits for step {position[s]} of thread block {block[s]}: there is none"
        )
        # a nop is folded into the step after it and publishes nothing
        publishes = self.steps.rows["has_dependents"] & (self.type != _NOP)
        number_of_steps = len(self.steps)
        candidates = np.where(publishes, np.arange(number_of_steps), number_of_steps)
        next_published = np.minimum.accumulate(candidates[::-1])[::-1]
        published = next_published[np.where(waits, self.first_step[target] + position, 0)]
        resolved = np.where(published < self.first_step[target + 1], published, _NEVER_PUBLISHED)
        return np.where(waits, resolved, -1)

    @cached_property
    def connections(self) -> tuple[tuple[int, int, int], ...]:
        """Every (source rank, destination rank, channel) that some block sends or receives on."""
        return tuple(dict.fromkeys([*self._ends("send"), *self._ends("receive")]))

    @cached_property
    def send_connection(self) -> NDArray[np.int32]:
        """The connection each block sends on (length B), -1: none."""
        return self._connection("send")

    @cached_property
    def receive_connection(self) -> NDArray[np.int32]:
        """The connection each block receives on (length B), -1: none."""
        return self._connection("receive")

    def place(self, step: int) -> str:
        """Where a step stands: rank, thread block, position."""
        block = int(self.step_block[step])
        rank = int(self.block_rank[block])
        return f"rank {rank} thread block {block - self.first_block[rank]} step {step - self.first_step[block]}"

    def _column(self, field: str) -> NDArray[np.int64]:
        return self.steps.rows[field].astype(np.int64)

    def _of_type(self, chosen: list[bool]) -> NDArray[np.bool_]:
        """The steps whose types are chosen, in the order of StepType."""
        of_type: NDArray[np.bool_] = np.array(chosen)[self.type]
        return of_type

    def _refuse(self, wrong: NDArray[np.bool_], problem: Callable[[int], str]) -> None:
        if wrong.any():
            step = int(wrong.argmax())
            raise ScheduleError(f"{self.place(step)} {problem(step)}")

    def _locations(self, end: str, uses: list[bool]) -> NDArray[np.int64]:
        used = self._of_type(uses)
        buffer, offset = self._column(f"{end}_buffer"), self._column(f"{end}_offset")
        rank = self.block_rank[self.step_block]
        sizes = [(gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks) for gpu in self.program.gpus]
        limit = np.array(sizes, np.int64)[rank, buffer]
        outside = used & ((offset < 0) | (self.count < 1) | (offset + self.count > limit))
        self._refuse(
            outside,
            lambda s: (
                f"{end}: {self.count[s]} chunks from {offset[s]} are not in buffer {BUFFERS[buffer[s]]} of {limit[s]}"
            ),
        )
        return np.where(used, self.memory.base[rank, buffer] + offset, 0)

    def _ends(self, direction: str) -> dict[tuple[int, int, int], int]:
        """The block at this end of each connection."""
        ends: dict[tuple[int, int, int], int] = {}
        for number, (rank, block) in enumerate(zip(self.block_rank.tolist(), self.blocks, strict=True)):
            peer = block.send if direction == "send" else block.receive
            if peer < 0:
                continue
            key = (rank, peer, block.channel) if direction == "send" else (peer, rank, block.channel)
            other = ends.setdefault(key, number)
            if other != number:
                pair = f"{other - self.first_block[rank]} and {number - self.first_block[rank]}"
                raise ScheduleError(
                    f"rank {rank}: thread blocks {pair} both {direction} on the connection {key[0]} -> {key[1]}, "
                    f"channel {key[2]}; use one of them, or another channel"
                )
        return ends

    def _connection(self, direction: str) -> NDArray[np.int32]:
        numbers = {key: number for number, key in enumerate(self.connections)}
        connection = np.full(len(self.blocks), -1, np.int32)
        for key, block in self._ends(direction).items():
            connection[block] = numbers[key]
        needs = self._of_type([kind.sends if direction == "send" else kind.receives for kind in StepType])
        self._refuse(needs & (connection[self.step_block] < 0), lambda s: f"has no peer to {direction} to or from")
        return connection
