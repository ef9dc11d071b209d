"""A rank's three buffers, the crafted values in its input and the result they must give."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.runtime.run.datatypes import Array, ReduceOp
from hocket.runtime.run.job import Job
from hocket.schedule.collective import Kind

__all__ = ["Buffers", "allocate", "count_wrong", "fill", "input_output_elements"]

# A prime, so that values shifted by any usual chunk size differ.
_PERIOD = 65521


@dataclass(frozen=True)
class Buffers:
    """`i`, `o` and `s` of one rank, chunks of `chunk` elements; in place, one of i and o is a part of the other."""

    input: Array
    output: Array
    scratch: Array
    chunk: int

    def view(self, name: str, offset: int, count: int) -> Array:
        """`count` chunks from chunk `offset`. Raises ScheduleError where the buffer ends before."""
        buffer = {"i": self.input, "o": self.output, "s": self.scratch}[name]
        if offset < 0 or (offset + count) * self.chunk > len(buffer):
            raise ScheduleError(
                f"chunks {offset}..{offset + count - 1} are outside of buffer '{name}' of {len(buffer) // self.chunk}"
            )
        return buffer[offset * self.chunk : (offset + count) * self.chunk]


def input_output_elements(kind: Kind, ranks: int, total: int) -> tuple[int, int]:
    """Elements of a rank's input and output when its larger buffer has `total`."""
    share = total // ranks
    if kind in (Kind.ALL_GATHER, Kind.GATHER):
        return share, total
    if kind in (Kind.REDUCE_SCATTER, Kind.SCATTER):
        return total, share
    return total, total


def allocate(job: Job, rank: int, size: int, in_place: bool) -> Buffers:
    """Zeroed buffers for `size` bytes. In place (NCCL's rule) the smaller one is the rank's share of the larger."""
    program, storage = job.program, job.elements.storage
    total = size // job.elements.size_bytes
    chunk = total // program.chunks_per_loop
    whole = np.zeros(total, storage)

    def place(count: int) -> Array:
        if not in_place:
            return np.zeros(count, storage)
        return whole if count == total else whole[rank * count : (rank + 1) * count]

    inputs, outputs = input_output_elements(program.kind, program.num_ranks, total)
    scratch = np.zeros(program.gpus[rank].scratch_chunks * chunk, storage)
    return Buffers(place(inputs), place(outputs), scratch, chunk)


def _pattern(job: Job, rank: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One period of rank's input values, in 1..largest_input: a zero (never written) is right nowhere.

    Of max and min every rank in turn has the result: it is above (below) half, so that none can be left out unseen.
    """
    # splitmix64's finalizer (Steele, Lea, Flood 2014) over (rank, position).
    with np.errstate(over="ignore"):
        z = (np.arange(_PERIOD, dtype=np.uint64) + np.uint64(rank << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    turns = job.op in (ReduceOp.MAX, ReduceOp.MIN)
    largest = job.largest_input // 2 if turns else job.largest_input
    values = (z % np.uint64(largest)).astype(np.int64) + 1
    if turns:
        has_turn = np.arange(_PERIOD) % job.program.num_ranks == rank
        values[has_turn == (job.op is ReduceOp.MAX)] += largest
    return values


def _values(job: Job, rank: int, start: int, count: int) -> Array:
    """Elements start..start+count-1 of rank's input."""
    return np.resize(np.roll(job.elements.encode(_pattern(job, rank)), -(start % _PERIOD)), count)


def _reduced(job: Job, start: int, count: int) -> Array:
    functions = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    period = reduce(functions[job.op], (_pattern(job, rank) for rank in range(job.program.num_ranks)))
    return np.resize(np.roll(job.elements.encode(period), -(start % _PERIOD)), count)


def fill(job: Job, rank: int, buffers: Buffers) -> None:
    """Puts the crafted input in place; everything else is zero, which is wrong in every result."""
    buffers.output[:] = 0
    buffers.scratch[:] = 0
    buffers.input[:] = _input(job, rank, len(buffers.input))


def _input(job: Job, rank: int, count: int) -> Array:
    """What the rank's input holds; zeros where the collective does not read it."""
    if job.program.kind not in (Kind.BROADCAST, Kind.SCATTER) or rank == job.program.root:
        return _values(job, rank, 0, count)
    return np.zeros(count, job.elements.storage)


def count_wrong(job: Job, rank: int, buffers: Buffers) -> int:
    """Elements of rank's output that differ from the exact result (none on ranks where it means nothing), and of an
    out-of-place call's input that differ from what they were: it is the caller's."""
    wrong = _count_wrong_results(job, rank, buffers.output)
    if not np.shares_memory(buffers.input, buffers.output):
        wrong += int(np.count_nonzero(buffers.input != _input(job, rank, len(buffers.input))))
    return wrong


def _count_wrong_results(job: Job, rank: int, output: Array) -> int:
    kind, ranks, root, count = job.program.kind, job.program.num_ranks, job.program.root, len(output)
    if kind in (Kind.REDUCE, Kind.GATHER) and rank != root:
        return 0
    if kind in (Kind.ALL_REDUCE, Kind.REDUCE):
        expected = _reduced(job, 0, count)
    elif kind is Kind.REDUCE_SCATTER:
        expected = _reduced(job, rank * count, count)
    elif kind in (Kind.BROADCAST, Kind.SCATTER):
        expected = _values(job, root, rank * count if kind is Kind.SCATTER else 0, count)
    else:
        share = count // ranks
        start = rank * share if kind is Kind.ALL_TO_ALL else 0
        expected = np.concatenate([_values(job, source, start, share) for source in range(ranks)])
    return int(np.count_nonzero(expected != output))
