"""Which of several programs serves which sizes: the quickest, by simulation, up to where its neighbour is quicker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby, pairwise
from math import isqrt

__all__ = ["Window", "multiples", "windows"]

_NEAR = 16  # a crossover is looked for to within a sixteenth of the size


@dataclass(frozen=True, slots=True)
class Window:
    """Sizes in bytes, both inclusive, that the `program`-th of several serves."""

    program: int
    min_bytes: int
    max_bytes: int


def multiples(min_bytes: int, max_bytes: int, unit_bytes: int) -> tuple[int, int]:
    """The least and the largest size between the two, both included, that is a multiple of a unit: the least above the
    largest where there is none."""
    return -(-max(min_bytes, 1) // unit_bytes) * unit_bytes, max_bytes // unit_bytes * unit_bytes


def windows(
    time_ps: Callable[[int, int], int], num_programs: int, sizes: Sequence[int], min_bytes: int, most: int
) -> list[Window]:
    """Windows that follow each other without gap or overlap from `min_bytes` to the last of the ascending `sizes`.

    `time_ps(program, size)` is what a program takes. At each of `sizes` the quickest serves; where two neighbours are
    served by different programs, the size between them from which on the second is the quicker is looked for, halving.
    No more than `most` windows: of the programs those are kept with which the slowest size, compared with the quickest
    program there, loses least.
    """
    best = {size: min(time_ps(program, size) for program in range(num_programs)) for size in sizes}

    def serving(kept: Sequence[int]) -> list[list[tuple[int, int]]]:
        """Runs of neighbouring sizes with one program: (program, size)."""
        chosen = [(min(kept, key=lambda program: (time_ps(program, size), program)), size) for size in sizes]
        return [list(run) for _, run in groupby(chosen, key=lambda pair: pair[0])]

    def loss(runs: list[list[tuple[int, int]]]) -> Fraction:
        return max(Fraction(time_ps(program, size), max(best[size], 1)) for run in runs for program, size in run)

    runs = serving(range(num_programs))
    if len(runs) > most:
        fewer = [serving(kept) for count in range(1, most + 1) for kept in combinations(range(num_programs), count)]
        runs = min((found for found in fewer if len(found) <= most), key=loss)
    edges = [_crossover(time_ps, *before[-1], *after[0]) for before, after in pairwise(runs)]
    starts, ends = [min_bytes, *edges], [*(edge - 1 for edge in edges), sizes[-1]]
    return [Window(run[0][0], start, end) for run, start, end in zip(runs, starts, ends, strict=True)]


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
