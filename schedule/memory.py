"""The memory a program works on: where its buffers lie, what they hold before and must hold after."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import Held
from hocket.base.enums import assert_never
from hocket.base.errors import ScheduleError
from hocket.schedule.collective import Kind
from hocket.schedule.program import Program, StepType

__all__ = ["Memory", "call_sizes", "lay_out"]

#: Chunks in all buffers of a call, and chunks that all steps move, that any program may have, and for each step more.
_LARGEST, _A_STEP = 1 << 23, 71
_NOP = list(StepType).index(StepType.NOP)
_CLOCKS = 1 << 28  # entries of vector clocks of one rank: 1 GiB


@dataclass(frozen=True, eq=False)
class Memory:
    """All ranks' memory as one range of locations; aliased buffers share theirs.

    `base[r, b]` int64: location of chunk 0 of rank r's buffer b (`BUFFERS`). Per location: `rank`, and `initial` int32,
    the chunk its rank contributes there (-1: undefined). `wanted` int64 rows (location, chunk, source): what must be
    there in the end, from that rank or, with source -1, from every rank exactly once. Chunks count as in `Collective`.
    """

    base: NDArray[np.int64]
    rank: NDArray[np.int32]
    initial: NDArray[np.int32]
    wanted: NDArray[np.int64]


def lay_out(program: Program, in_place: bool) -> Memory:
    """The memory of an in-place or out-of-place call (aliasing as NCCL detects it, docs/translator.md#msccl-xml).

    Raises ScheduleError when the program declares buffers that the collective's call does not have, and for one that a
    few lines make too large to execute.
    """
    n, slots = program.num_ranks, program.chunks_per_loop
    _check_extent(program)
    if program.kind.in_blocks and slots % n:
        raise ScheduleError(f"{program.kind}: {slots} chunks per loop cannot be shared by {n} ranks; use a multiple")
    base = np.zeros((n, 3), np.int64)
    ends = np.zeros(n, np.int64)
    end = 0
    contributions: list[NDArray[np.int64]] = []
    wanted: list[NDArray[np.int64]] = []
    for rank in range(n):
        gpu = program.gpus[rank]
        inputs, outputs = call_sizes(program, rank)
        for name, declared, size in (("i", gpu.input_chunks, inputs), ("o", gpu.output_chunks, outputs)):
            if declared > size:
                call = f"{program.kind} of {slots} chunks"
                raise ScheduleError(f"rank {rank} declares {name}_chunks={declared}, but a call of {call} has {size}")
        input_at, output_at = _aliasing(program, rank) if in_place else (0, inputs)
        scratch_at = max(input_at + inputs, output_at + outputs)
        base[rank] = end + np.array([input_at, output_at, scratch_at])
        end += scratch_at + gpu.scratch_chunks
        ends[rank] = end
        before = _before(program, rank)
        contributions.append(np.stack([base[rank, 0] + np.arange(len(before)), before], axis=1))
        chunk, source = _after(program, rank)
        wanted.append(np.stack([base[rank, 1] + np.arange(len(chunk)), chunk, source], axis=1))
        if not in_place:
            # the caller's input is not the program's to change
            wanted.append(np.stack([*contributions[-1].T, np.full(len(before), rank)], axis=1))
    initial = np.full(end, -1, np.int32)
    known = np.concatenate(contributions)
    initial[known[:, 0]] = known[:, 1]
    owner = np.repeat(np.arange(n, dtype=np.int32), np.diff(ends, prepend=0))
    return Memory(base, owner, initial, np.concatenate(wanted))


def _check_extent(program: Program) -> None:
    """Raises ScheduleError when execution would take much more memory and time than reading the program did."""
    rows = program.rows
    steps = len(rows)
    most = max(_LARGEST, _A_STEP * steps)
    held = sum(sum(call_sizes(program, rank)) + gpu.scratch_chunks for rank, gpu in enumerate(program.gpus))
    ends = np.cumsum([0, *(sum(len(block.steps) for block in gpu.thread_blocks) for gpu in program.gpus)])
    moved = np.cumsum(np.append(0, np.where(rows["type"] != _NOP, rows["count"], 0)), dtype=np.int64)
    moved_by = np.diff(moved[ends]).tolist()
    for number, what in ((held, "chunks in the buffers of all ranks"), (sum(moved_by), "chunks moved by its steps")):
        if number > most:
            raise ScheduleError(
                f"{program.kind} of {program.chunks_per_loop} chunks on {program.num_ranks} ranks: {number} {what} are "
                f"too many to execute, limit {most} ({_LARGEST}, or {_A_STEP} for each of {steps} steps); use fewer "
                "chunks"
            )
    for rank, (gpu, moved) in enumerate(zip(program.gpus, moved_by, strict=True)):
        if len(gpu.thread_blocks) * moved > _CLOCKS:
            raise ScheduleError(
                f"rank {rank}: {len(gpu.thread_blocks)} thread blocks that move {moved} chunks are too many to "
                f"execute, limit {_CLOCKS} blocks times chunks; use fewer of either"
            )


def call_sizes(program: Program, rank: int) -> tuple[int, int]:
    """Chunks in the input and the output buffer that a call hands to `rank`."""
    slots, block = program.chunks_per_loop, program.chunks_per_loop // program.num_ranks
    kind, has_whole = program.kind, not _lacks_whole(program, rank)
    if kind is Kind.CUSTOM:
        return program.gpus[rank].input_chunks, program.gpus[rank].output_chunks
    if kind.input_is_block:
        return block, slots if has_whole else 0
    if kind.output_is_block:
        return slots if has_whole else 0, block
    return slots, slots


def _lacks_whole(program: Program, rank: int) -> bool:
    """Whether the rank has its block only: in gather and scatter all but the root."""
    return program.kind.in_blocks and program.kind.rooted and rank != program.root


def _aliasing(program: Program, rank: int) -> tuple[int, int]:
    """Where input and output begin in the one buffer of an in-place call."""
    block = program.chunks_per_loop // program.num_ranks
    has_whole = not _lacks_whole(program, rank)
    if program.kind.input_is_block:
        return (rank * block, 0) if has_whole else (0, block)
    if program.kind.output_is_block:
        return (0, rank * block) if has_whole else (0, 0)
    return 0, 0


def _before(program: Program, rank: int) -> NDArray[np.int64]:
    """The chunk that each position of the rank's input contributes."""
    kind, slots, block = program.kind, program.chunks_per_loop, program.chunks_per_loop // program.num_ranks
    match kind.before:
        case Held.CONDITIONS:
            return np.arange(program.gpus[rank].input_chunks)
        case Held.ROOT:
            return np.arange(slots if rank == program.root else 0)
        case Held.OWNER:
            return rank * slots + np.arange(slots) if kind.in_pairs else rank * block + np.arange(block)
        case Held.EVERYONE:
            return np.arange(slots)
        case _:
            assert_never(kind.before)


def _after(program: Program, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The chunk, and its source (-1: every rank), that each position of the rank's output must hold."""
    kind, slots, block = program.kind, program.chunks_per_loop, program.chunks_per_loop // program.num_ranks
    if kind.after is Held.ROOT and rank != program.root:
        return np.arange(0), np.arange(0)
    chunk = rank * block + np.arange(block) if kind.output_is_block else np.arange(slots)
    match kind.before:
        case Held.CONDITIONS:
            return np.arange(0), np.arange(0)
        case Held.EVERYONE:
            return chunk, np.full(len(chunk), -1)
        case Held.ROOT:
            return chunk, np.full(len(chunk), program.root)
        case Held.OWNER:
            source = chunk // block
            return source * slots + rank * block + chunk % block if kind.in_pairs else chunk, source
        case _:
            assert_never(kind.before)
