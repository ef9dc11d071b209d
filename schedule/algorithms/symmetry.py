"""Groups of rank permutations under which an algorithm does not change: what rank 0 does says what all ranks do."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["NONE", "Symmetry"]

_Ranks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A group that takes rank 0 to every rank of a box in exactly one way: element g takes it to rank g.

    The ranks are numbered rank = c0 + c1*n0 + c2*n0*n1 + ... with the `sizes` n0, n1, ... of the box. An element shifts
    every coordinate around; with `swings` an odd shift turns its coordinate around as well (c -> g - c, where an even
    one is c -> g + c), which needs even sizes. Without sizes the group is trivial: its one element
    leaves all ranks where they are. Chunks go with the ranks in their numbers, unless `fixes_chunks`.
    """

    sizes: tuple[int, ...] = ()
    swings: bool = False
    fixes_chunks: bool = False

    @classmethod
    def shifts(cls, *sizes: int) -> "Symmetry":
        """The shifts of a box; a size of 1 is nothing to shift."""
        return cls(tuple(size for size in sizes if size > 1))

    @property
    def order(self) -> int:
        """Number of elements."""
        return prod(self.sizes)

    def act(self, element: ArrayLike, rank: ArrayLike) -> _Ranks:
        """Where each element takes each rank (int64, broadcast); also the element that is the two one after the other:
        first `rank`, then `element`."""
        by, at = np.asarray(element, np.int64), np.asarray(rank, np.int64)
        result, stride = at // self.order * self.order + np.zeros_like(by), 1
        for size in self.sizes:
            shift, coordinate = by // stride % size, at // stride % size
            if self.swings:
                coordinate = np.where(shift % 2 == 1, -coordinate, coordinate)
            result += (shift + coordinate) % size * stride
            stride *= size
        return result

    def inverse(self, element: ArrayLike) -> _Ranks:
        """The element that undoes each element: the one that takes rank `element` to rank 0."""
        by = np.asarray(element, np.int64)
        result, stride = np.zeros(by.shape, np.int64), 1
        for size in self.sizes:
            shift = by // stride % size
            undone = np.where(shift % 2 == 1, shift, -shift) if self.swings else -shift
            result += undone % size * stride
            stride *= size
        return result

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Elements and how often to take each, 0 to `times`-1 times, one after the other, to get every element once:
        in ascending order when the last varies slowest."""
        steps, stride = [], 1
        for size in self.sizes:
            steps += [(stride, 2), (2 * stride, size // 2)] if self.swings else [(stride, size)]
            stride *= size
        return tuple(step for step in steps if step[1] > 1)


NONE = Symmetry()
