"""Which of several programs serves which sizes: the quickest, by simulation, up to where its neighbour is quicker."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isqrt

__all__ = ["SizeWindow", "multiples", "reachable", "windows"]

_NEAR = 16  # a crossover is looked for to within a sixteenth of the size
_WHOLE = 1 << 16  # times are compared in so many parts of the quickest
_ALIKE = _WHOLE + _WHOLE // 64  # a sixty-fourth more: no window is made for less

# worst of the sizes' losses, their sum, and of each run the program and how many sizes end with it
_Partition = tuple[int, int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class SizeWindow:
    """Sizes in bytes, both inclusive, that the `program`-th of several serves."""

    program: int
    min_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring sizes that one program serves: the first and the last."""

    program: int
    first: int
    last: int


def multiples(min_bytes: int, max_bytes: int, unit_bytes: int) -> tuple[int, int]:
    """The least and the largest size between the two, both included, that is a multiple of a unit: the least above the
    largest where there is none."""
    return -(-max(min_bytes, 1) // unit_bytes) * unit_bytes, max_bytes // unit_bytes * unit_bytes


def windows(
    time_ps: Callable[[int, int], int],
    num_programs: int,
    sizes: Iterable[int],
    min_bytes: int,
    most: int | None = None,
    free: int | None = None,
) -> list[SizeWindow]:
    """Windows that follow each other without gap or overlap from `min_bytes` to the largest of `sizes`.

    `time_ps(program, size)` is what a program takes; of equals the first serves. Where two neighbouring sizes are
    served by different programs, the size from which on the second is the quicker is looked for, halving; where a third
    is the quicker there, that is one of the sizes too. As few windows as keep all of them to within a sixty-fourth of
    the quickest program's time; no more than `most` beside those of the program `free`, with which the slowest size,
    compared so, loses least.
    """
    known = sorted(set(sizes))
    while True:
        runs = _runs(time_ps, num_programs, known, len(known), free)
        edges = _edges(time_ps, runs)
        missed = {
            edge
            for (before, after), edge in zip(pairwise(runs), edges, strict=True)
            if not any(abs(edge - size) <= size // _NEAR for size in known)
            and min(time_ps(run.program, edge) for run in (before, after)) * _WHOLE
            > min(time_ps(program, edge) for program in range(num_programs)) * _ALIKE
        }
        if not missed:
            break
        known = sorted(missed.union(known))
    if most is not None and sum(run.program != free for run in runs) > most:
        runs = _runs(time_ps, num_programs, known, most, free)
        edges = _edges(time_ps, runs)
    starts, ends = [min_bytes, *edges], [*(edge - 1 for edge in edges), known[-1]]
    return [SizeWindow(run.program, start, end) for run, start, end in zip(runs, starts, ends, strict=True)]


def reachable(found: Sequence[SizeWindow], unit_bytes: Callable[[int], int]) -> list[SizeWindow]:
    """The windows less those in which no size is a multiple of their program's unit: the one before serves these sizes
    too, or, of the first, the next. Where no window has such a size, the last of them, over all sizes."""
    result: list[SizeWindow] = []
    start = found[0].min_bytes
    for window in found:
        wider = replace(window, min_bytes=start)
        first, last = multiples(start, window.max_bytes, unit_bytes(window.program))
        if result and (first > last or result[-1].program == window.program):
            result[-1] = replace(result[-1], max_bytes=window.max_bytes)
        elif first <= last or window is found[-1]:
            result.append(wider)
        else:
            continue  # the next begins where this one does
        start = window.max_bytes + 1
    return result


def _runs(
    time_ps: Callable[[int, int], int], num_programs: int, sizes: Sequence[int], most: int, free: int | None
) -> list[_Run]:
    """The ascending sizes in at most so many runs beside those of `free`, by dynamic programming over where the last
    one starts."""
    best = [max(min(time_ps(program, size) for program in range(num_programs)), 1) for size in sizes]
    loss = [
        [time_ps(program, size) * _WHOLE // least for size, least in zip(sizes, best, strict=True)]
        for program in range(num_programs)
    ]
    # of the sizes before each, by number of runs
    partitions: list[dict[int, _Partition]] = [{0: (0, 0, ())}]
    for end in range(1, len(sizes) + 1):
        found: dict[int, _Partition] = {}
        worst, total = [0] * num_programs, [0] * num_programs
        for start in reversed(range(end)):
            worst = [max(value, row[start]) for value, row in zip(worst, loss, strict=True)]
            total = [value + row[start] for value, row in zip(total, loss, strict=True)]
            program = min(range(num_programs), key=lambda each: (worst[each], total[each], each))
            for one in {program, program if free is None else free}:
                for before_it, (before, others, served) in partitions[start].items():
                    kept = served[:-1] if served and served[-1][0] == one else served
                    partition = (max(before, worst[one]), others + total[one], (*kept, (one, end)))
                    count = before_it + (one != free)
                    if count <= most and (count not in found or partition < found[count]):
                        found[count] = partition
        partitions.append(found)
    counts = partitions[-1]
    enough = [count for count in sorted(counts) if counts[count][0] <= _ALIKE]
    chosen = enough[0] if enough else min(counts, key=lambda count: (*counts[count][:2], count))
    served = counts[chosen][2]
    starts = [0, *(end for _, end in served)]
    return [_Run(program, sizes[start], sizes[end - 1]) for start, (program, end) in zip(starts, served, strict=False)]


def _edges(time_ps: Callable[[int, int], int], runs: Sequence[_Run]) -> list[int]:
    """Where each run but the first begins."""
    return [
        _crossover(time_ps, before.program, before.last, after.program, after.first) for before, after in pairwise(runs)
    ]


def _crossover(time_ps: Callable[[int, int], int], first: int, small: int, second: int, large: int) -> int:
    """A round size from which on program `second` serves: at `small` the other is the quicker, at `large` it is."""
    while large - small > max(small // _NEAR, 1):
        middle = max(isqrt(small * large), small + 1)
        if time_ps(second, middle) < time_ps(first, middle):
            large = middle
        else:
            small = middle
    step = 1 << max(large.bit_length() - 5, 0)
    return max(large // step * step, small + 1)
