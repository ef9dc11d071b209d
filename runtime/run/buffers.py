"""A rank's buffers, the crafted values in its input and the result they must give."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from hocket.base.collectives import Held
from hocket.base.enums import assert_never, not_here
from hocket.runtime.run.datatypes import Array, ReduceOp
from hocket.runtime.run.job import RunTask
from hocket.schedule.collective import Kind

__all__ = ["Buffers", "allocate", "count_wrong", "fill", "input_output_elements"]

# A prime, so that values shifted by any usual chunk size differ.
_PERIOD = 65521


@dataclass(frozen=True)
class Buffers:
    """Input and output of one rank's call; in place, one is a part of the other."""

    input: Array
    output: Array

    @property
    def are_one(self) -> bool:
        return np.shares_memory(self.input, self.output)


def input_output_elements(kind: Kind, ranks: int, total: int) -> tuple[int, int]:
    """Elements of a rank's input and output when its larger buffer has `total`."""
    share = total // ranks
    return share if kind.input_is_block else total, share if kind.output_is_block else total


def allocate(task: RunTask, rank: int, size: int, in_place: bool) -> Buffers:
    """Zeroed buffers for `size` bytes. In place (NCCL's rule) the smaller one is the rank's share of the larger."""
    storage = task.elements.storage
    total = size // task.elements.size_bytes
    whole = np.zeros(total, storage)

    def place(count: int) -> Array:
        if not in_place:
            return np.zeros(count, storage)
        return whole if count == total else whole[rank * count : (rank + 1) * count]

    inputs, outputs = input_output_elements(task.kind, task.num_ranks, total)
    return Buffers(place(inputs), place(outputs))


def _pattern(task: RunTask, rank: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One period of rank's input values, in 1..largest_input: a zero (never written) is right nowhere.

    Of max and min every rank in turn has the result: it is above (below) half, so that none can be left out unseen.
    """
    # splitmix64's finalizer (Steele, Lea, Flood 2014) over (rank, position).
    with np.errstate(over="ignore"):
        z = (np.arange(_PERIOD, dtype=np.uint64) + np.uint64(rank << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    turns = task.op in (ReduceOp.MAX, ReduceOp.MIN)
    largest = task.largest_input // 2 if turns else task.largest_input
    values = (z % np.uint64(largest)).astype(np.int64) + 1
    if turns:
        has_turn = np.arange(_PERIOD) % task.num_ranks == rank
        values[has_turn == (task.op is ReduceOp.MAX)] += largest
    return values


def _values(task: RunTask, rank: int, start: int, count: int) -> Array:
    """Elements start..start+count-1 of rank's input."""
    return np.resize(np.roll(task.elements.encode(_pattern(task, rank)), -(start % _PERIOD)), count)


def _reduced(task: RunTask, start: int, count: int) -> Array:
    functions = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    period = reduce(functions[task.op], (_pattern(task, rank) for rank in range(task.num_ranks)))
    return np.resize(np.roll(task.elements.encode(period), -(start % _PERIOD)), count)


def fill(task: RunTask, rank: int, buffers: Buffers) -> None:
    """Puts the crafted input in place; everything else is zero, which is wrong in every result."""
    buffers.output[:] = 0
    buffers.input[:] = _input(task, rank, len(buffers.input))


def _input(task: RunTask, rank: int, count: int) -> Array:
    """What the rank's input holds; zeros where the collective does not read it."""
    if task.kind.before is not Held.ROOT or rank == task.root:
        return _values(task, rank, 0, count)
    return np.zeros(count, task.elements.storage)


def count_wrong(task: RunTask, rank: int, buffers: Buffers) -> int:
    """Elements of rank's output that differ from the exact result (none on ranks where it means nothing), and of an
    out-of-place call's input that differ from what they were: it is the caller's."""
    wrong = _count_wrong_results(task, rank, buffers.output)
    if not buffers.are_one:
        wrong += int(np.count_nonzero(buffers.input != _input(task, rank, len(buffers.input))))
    return wrong


def _count_wrong_results(task: RunTask, rank: int, output: Array) -> int:
    kind, ranks, root, count = task.kind, task.num_ranks, task.root, len(output)
    if kind.after is Held.ROOT and rank != root:
        return 0
    start = rank * count if kind.output_is_block else 0
    match kind.before:
        case Held.EVERYONE:
            expected = _reduced(task, start, count)
        case Held.ROOT:
            expected = _values(task, root, start, count)
        case Held.OWNER:
            share = count // ranks
            start = rank * share if kind.in_pairs else 0
            expected = np.concatenate([_values(task, source, start, share) for source in range(ranks)])
        case Held.CONDITIONS:
            not_here(kind)
        case _:
            assert_never(kind.before)
    return int(np.count_nonzero(expected != output))
