"""The memory a plan works on: its locations, what they hold before and must hold after a launch."""

from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Gpu, Program
from hocket.schedule.memory import lay_out
from hocket.translator.mscclpp.plan import ExecutionPlan

__all__ = ["Granularity", "PlanMemory"]


@dataclass(frozen=True, slots=True)
class Granularity:
    """Into how many locations a chunk is cut: `parts` for the thread blocks that share an op, `rounds` for the rounds
    that pipelines take for a chunk, of which scratch holds `scratch_rounds` (where it is reused for larger chunks)."""

    parts: int
    rounds: int
    scratch_rounds: int

    @property
    def locations(self) -> int:
        """Locations of a chunk of input or output."""
        return self.parts * self.rounds

    @property
    def scratch_locations(self) -> int:
        """Locations of a chunk of scratch."""
        return self.parts * min(self.rounds, self.scratch_rounds)


def shared_parts(plan: ExecutionPlan) -> int:
    """Parts of a chunk of which every share of a thread block group is a whole number."""
    ops = (part for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops for part in (op, *op.ops))
    shares = {(op.tbg_info.tbg_size, operand.size) for op in ops if op.tbg_info for operand in op.sources}
    return lcm(1, *(size // gcd(size, chunks) for size, chunks in shares))


@dataclass(frozen=True, eq=False)
class PlanMemory:
    """All ranks' locations: inputs and outputs of a call, aliased in place, then each rank's scratch, as plain data and
    apart as packets (twice, where launches take turns with two halves). int64 and int32 columns as in
    `hocket.schedule.Memory`; `callers` uint8: the location is the caller's, not scratch.
    """

    plan: ExecutionPlan
    granularity: Granularity
    base: NDArray[np.int64]
    scratch: NDArray[np.int64]
    rank: NDArray[np.int32]
    initial: NDArray[np.int32]
    callers: NDArray[np.uint8]
    wanted: NDArray[np.int64]

    @classmethod
    def of(cls, plan: ExecutionPlan, granularity: Granularity, root: int) -> "PlanMemory":
        """Raises ScheduleError when the collective's call does not have the plan's buffers."""
        call = lay_out(_as_program(plan, root), plan.in_place)
        cut = granularity.locations
        fine = np.arange(cut)
        wanted = call.wanted if plan.collective != "sendrecv" else _from_previous(plan, call.base, call.wanted)
        rows = wanted.reshape(-1, 1, 3) * [cut, cut, 1] + np.stack([fine, fine, 0 * fine], axis=1)
        user = len(call.rank) * cut
        each = [
            2 * (1 + plan.use_double_scratch_buffer) * gpu.scratch_chunks * granularity.scratch_locations
            for gpu in plan.gpus
        ]
        owner = np.repeat(np.arange(plan.num_ranks, dtype=np.int32), each)
        initial = np.where(call.initial[:, None] < 0, -1, call.initial[:, None] * cut + fine).reshape(-1)
        return cls(
            plan,
            granularity,
            call.base * cut,
            user + np.concatenate([[0], np.cumsum(each)]),
            np.concatenate([np.repeat(call.rank, cut), owner]).astype(np.int32),
            np.concatenate([initial, np.full(len(owner), -1)]).astype(np.int32),
            np.concatenate([np.ones(user), np.zeros(len(owner))]).astype(np.uint8),
            np.ascontiguousarray(rows.reshape(-1, 3)),
        )

    def place(self, rank: int, buffer: str, index: int, packet: bool) -> int:
        """The first location of a chunk; in scratch, of the half that even launches use."""
        if buffer != "s":
            return int(self.base[rank, "io".index(buffer)]) + index * self.granularity.locations
        region = 1 + self.plan.use_double_scratch_buffer if packet else 0
        return int(self.scratch[rank]) + region * self.half(rank) + index * self.granularity.scratch_locations

    def half(self, rank: int) -> int:
        """Locations of one half of the rank's scratch."""
        return self.plan.gpus[rank].scratch_chunks * self.granularity.scratch_locations

    def describe(self, location: int) -> str:
        """`rank 2 o[5]`."""
        rank, cut = int(self.rank[location]), self.granularity.locations
        gpu = self.plan.gpus[rank]
        if not self.callers[location]:
            within = location - int(self.scratch[rank])
            region, at = divmod(within, self.half(rank))
            packet = region > self.plan.use_double_scratch_buffer
            return f"rank {rank} s[{at // self.granularity.scratch_locations}]{' (packets)' if packet else ''}"
        names = []
        for name, chunks, base in zip("io", (gpu.input_chunks, gpu.output_chunks), self.base[rank], strict=False):
            at = (location - int(base)) // cut
            if 0 <= at < chunks:
                names.append(f"{name}[{at}]")
        return f"rank {rank} {' = '.join(names)}"


def _as_program(plan: ExecutionPlan, root: int) -> Program:
    gpus = tuple(Gpu(gpu.input_chunks, gpu.output_chunks, 0, ()) for gpu in plan.gpus)
    return Program(
        name=plan.name,
        kind=plan.kind,
        chunks_per_loop=plan.slots,
        num_channels=1,
        protocol=plan.protocol,
        in_place=plan.in_place,
        out_of_place=not plan.in_place,
        min_bytes=0,
        max_bytes=0,
        gpus=gpus,
        root=root,
    )


def _from_previous(plan: ExecutionPlan, base: NDArray[np.int64], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """What sendrecv wants: every output is the input of the rank before, in a ring."""
    n, chunks = plan.num_ranks, np.arange(plan.gpus[0].output_chunks)
    rows = [
        np.stack([base[rank, 1] + chunks, chunks, np.full(len(chunks), (rank - 1) % n)], axis=1) for rank in range(n)
    ]
    return np.concatenate([kept, *rows])
