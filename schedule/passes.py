"""How an interpreter, or NCCL, cuts a call: passes over a program's steps, and what each moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.schedule.collective import Collective
from hocket.schedule.pace import Pace
from hocket.schedule.program import Program, StepType
from hocket.schedule.protocols import NVIDIA, Protocol
from hocket.topology import Crossing

__all__ = ["Passes"]

_MAX_PIECES = 4096
_SENDS = np.array([kind.sends for kind in StepType])
_MAX_COUNT = 71  # chunks of a message, in every runtime


@dataclass(frozen=True, eq=False)
class Passes:
    """A call of `size_bytes` (as nccl-tests counts it). Pass p moves the next `chunk_bytes[p, c]` (int64) of every
    chunk that goes over channel c; 0: that channel has nothing left to do.

    A step's chunks go in messages of at most `chunks_per_message`, each of them cut in up to `slices` equal parts of at
    least `least_slice` bytes (but for the last), which are passed on one by one. A buffer of a connection holds
    `fifo_depth` such parts. Every byte of data is `wire` bytes on the links. `pace`: what the kernels take beside that;
    None: no time, and one buffer per connection. `crossings`: over which ports messages go from machine to machine, by
    connection (sender, receiver, channel); the others take the shortest way.
    """

    size_bytes: int
    chunk_bytes: NDArray[np.int64]
    fifo_depth: int
    wire: Fraction
    chunks_per_message: int = 1
    slices: int = 1
    least_slice: int = 0
    pace: Pace | None = None
    crossings: Mapping[tuple[int, int, int], Crossing] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        program: Program,
        size_bytes: int,
        protocols: Mapping[str, Protocol] = NVIDIA,
        machine: Sequence[int] = (),
        largest: int | None = None,
    ) -> "Passes":
        """What an interpreter does: chunks of one size, slice after slice; `machine` of each rank (none: all are on
        one), which tells steps inside a machine from those between two where the protocol has a pace. `largest` is
        `largest_message`, where that is known.

        Raises SimulationError for a size that the program's chunks do not divide: no runtime takes it for that.
        """
        chunk, rest = divmod(size_bytes, program.chunks_per_loop)
        if rest or not chunk:
            more = max(1, round(size_bytes / program.chunks_per_loop)) * program.chunks_per_loop
            raise SimulationError(
                f"{program.name} cuts the buffer into {program.chunks_per_loop} chunks, which do not divide"
                f" {size_bytes} bytes: runtimes would take another algorithm; the nearest size it serves is {more} B"
            )
        protocol = protocols[program.protocol]
        # where messages are never cut, all chunks of the largest share a slot
        most = 1 if protocol.cuts_messages else largest or cls.largest_message(program)
        slice_bytes = max(protocol.slice_bytes // most, 1)
        whole, left = divmod(chunk, slice_bytes)
        slices = np.array([slice_bytes] * whole + [left] * (left > 0), np.int64)
        channels = 1 + max((block.channel for gpu in program.gpus for block in gpu.thread_blocks), default=0)
        fitting = max(most, min(max(slice_bytes // chunk, 1), _MAX_COUNT))
        pace = None if protocol.pace is None else replace(protocol.pace, machine=tuple(machine))
        return cls(
            size_bytes,
            np.tile(slices[:, None], channels),
            protocol.fifo_depth,
            protocol.wire,
            fitting,
            pace=pace,
        )

    def __len__(self) -> int:
        return len(self.chunk_bytes)

    def collective(self, program: Program) -> Collective:
        """What a call achieves, in chunks no larger than the smallest message (and at most 4096 of the program's)."""
        largest = int(self.chunk_bytes.sum(axis=0).max())
        smallest = int(self.chunk_bytes[self.chunk_bytes > 0].min())
        pieces = program.chunks_per_loop * min(-(-largest // smallest) * self.slices, _MAX_PIECES)
        parts = program.num_ranks if program.kind.cut_by_rank else 1
        return Collective(program.kind, program.num_ranks, self.size_bytes, -(-pieces // parts), program.root)

    def message_bytes(
        self, channel: NDArray[np.int64], count: NDArray[np.int64], part: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Data in part `part` of messages of `count` chunks on a channel, in each pass (passes x messages)."""
        whole = self.chunk_bytes[:, channel] * count
        most = np.maximum(-(-whole // self.slices), self.least_slice)
        found: NDArray[np.int64] = np.clip(whole - part * most, 0, most)
        return found

    def depth(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many parts of messages a connection from each rank to each holds."""
        if self.pace is None:
            return np.full(len(src), self.fifo_depth)
        return self.fifo_depth * self.pace.buffers_of(src, dst)

    @staticmethod
    def largest_message(program: Program) -> int:
        """Chunks of the largest that a step sends; 1 where there is none."""
        rows = program.rows
        return int(rows["count"][_SENDS[rows["type"]]].max(initial=1))
