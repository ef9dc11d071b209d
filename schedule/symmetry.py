"""Groups of rank permutations under which an algorithm does not change: what some ranks do says what all ranks do."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hocket.base.enums import StrEnum, assert_never
from hocket.base.errors import ScheduleError
from hocket.schedule.collective import Collective

__all__ = ["NONE", "Motion", "Symmetry"]

_Ranks = NDArray[np.int64]


class Motion(StrEnum):
    """What elements do to the coordinate c of a dimension with n ranks: none of them but the first leaves any c where
    it is, unless all stay."""

    SHIFT = "shift"  # g = 0..n-1: c -> g + c around
    SWING = "swing"  # g = 0..n-1, n even: c -> g + c around if g is even, g - c if odd
    FLIP = "flip"  # g = 0, 1, n even: g = 1 is c -> n - 1 - c
    STAY = "stay"  # g = 0

    def order(self, size: int) -> int:
        """Number of elements on a dimension."""
        match self:
            case Motion.SHIFT | Motion.SWING:
                return size
            case Motion.FLIP:
                return 2
            case Motion.STAY:
                return 1
            case _:
                assert_never(self)

    def act(self, by: _Ranks, at: _Ranks, size: int) -> _Ranks:
        match self:
            case Motion.SHIFT:
                return (by + at) % size
            case Motion.SWING:
                return (by + np.where(by % 2 == 1, -at, at)) % size
            case Motion.FLIP:
                return np.where(by == 1, size - 1 - at, at)
            case Motion.STAY:
                return at
            case _:
                assert_never(self)

    def inverse(self, by: _Ranks, size: int) -> _Ranks:
        match self:
            case Motion.SHIFT:
                return -by % size
            case Motion.SWING:
                return np.where(by % 2 == 1, by, -by % size)
            case Motion.FLIP | Motion.STAY:
                return by
            case _:
                assert_never(self)

    def home(self, at: _Ranks, size: int) -> _Ranks:
        """The element that takes each coordinate to the least it can become."""
        match self:
            case Motion.SHIFT | Motion.SWING:
                return self.inverse(at, size)
            case Motion.FLIP:
                return (at >= size // 2).astype(np.int64)
            case Motion.STAY:
                return np.zeros_like(at)
            case _:
                assert_never(self)

    def steps(self, size: int) -> list[tuple[int, int]]:
        """As `Symmetry.steps`."""
        return [(1, 2), (2, size // 2)] if self is Motion.SWING else [(1, self.order(size))]


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A group that takes no rank of a box to itself, but by its element 0, which leaves all where they are.

    The ranks are numbered rank = c0 + c1*n0 + c2*n0*n1 + ... with the `sizes` n0, n1, ... of the box. Each dimension
    moves by itself, as its one of the `motions` says: element g0 + g1*m0 + g2*m0*m1 + ... moves coordinate k by gk, of
    which there are mk. Chunks go with the ranks in their numbers, unless `fixes_chunks`.

    Ranks that are images of each other are an orbit; the least of them represents it. A group of shifts and swings has
    one orbit: element g takes rank 0 to rank g. Without sizes the group is the trivial one, of any ranks. Raises
    ScheduleError for a motion that a size does not allow.
    """

    sizes: tuple[int, ...] = ()
    motions: tuple[Motion, ...] = ()
    fixes_chunks: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.motions):
            raise ScheduleError(f"a symmetry of {len(self.sizes)} dimensions cannot have {len(self.motions)} motions")
        for size, motion in zip(self.sizes, self.motions, strict=True):
            if size < 1 or (size % 2 and motion in (Motion.SWING, Motion.FLIP)):
                raise ScheduleError(f"a dimension of size {size} has no symmetry '{motion}'")

    @classmethod
    def shifts(cls, *sizes: int) -> "Symmetry":
        """The shifts of a box; a size of 1 is nothing to shift."""
        return cls._all_move(Motion.SHIFT, sizes)

    @classmethod
    def swings(cls, *sizes: int) -> "Symmetry":
        """The swings of a box of even sizes, but for sizes of 1."""
        return cls._all_move(Motion.SWING, sizes)

    @classmethod
    def _all_move(cls, motion: Motion, sizes: tuple[int, ...]) -> "Symmetry":
        moving = tuple(size for size in sizes if size > 1)
        return cls(moving, (motion,) * len(moving))

    @classmethod
    def flips(cls, *sizes: int) -> "Symmetry":
        """The reflections of a box in its even dimensions; the others have a middle, which no flip would move."""
        return cls(sizes, tuple(Motion.STAY if size % 2 else Motion.FLIP for size in sizes))

    @property
    def order(self) -> int:
        """Number of elements."""
        return prod(self._orders)

    @property
    def num_ranks(self) -> int:
        """Ranks of the box."""
        return prod(self.sizes)

    @property
    def _orders(self) -> list[int]:
        return [motion.order(size) for size, motion in zip(self.sizes, self.motions, strict=True)]

    def act(self, element: ArrayLike, rank: ArrayLike) -> _Ranks:
        """Where each element takes each rank (int64, broadcast). With a single orbit this is also the element that is
        the two one after the other: first `rank`, then `element`."""
        by, at = np.asarray(element, np.int64), np.asarray(rank, np.int64)
        result, stride, radix = at // self.num_ranks * self.num_ranks + np.zeros_like(by), 1, 1
        for size, motion, order in zip(self.sizes, self.motions, self._orders, strict=True):
            result += motion.act(by // radix % order, at // stride % size, size) * stride
            stride, radix = stride * size, radix * order
        return result

    def inverse(self, element: ArrayLike) -> _Ranks:
        """The element that undoes each element (int64)."""
        by = np.asarray(element, np.int64)
        result, radix = np.zeros(by.shape, np.int64), 1
        for size, motion, order in zip(self.sizes, self.motions, self._orders, strict=True):
            result += motion.inverse(by // radix % order, size) * radix
            radix *= order
        return result

    def home(self, rank: ArrayLike) -> _Ranks:
        """The element that takes each rank to the one that represents it (int64)."""
        at = np.asarray(rank, np.int64)
        result, stride, radix = np.zeros(at.shape, np.int64), 1, 1
        for size, motion, order in zip(self.sizes, self.motions, self._orders, strict=True):
            result += motion.home(at // stride % size, size) * radix
            stride, radix = stride * size, radix * order
        return result

    def act_on_chunks(self, collective: Collective, element: ArrayLike, chunk: ArrayLike) -> _Ranks:
        """Where each element takes each chunk of a collective (int64, broadcast)."""
        by, at = np.asarray(element, np.int64), np.asarray(chunk, np.int64)
        if self.fixes_chunks or self.order == 1:
            return at + np.zeros_like(by)
        block, piece = np.divmod(at, collective.chunks_per_rank)
        if collective.kind.in_pairs:
            source, target = np.divmod(block, collective.num_ranks)
            image = self.act(by, source) * collective.num_ranks + self.act(by, target)
        else:
            image = self.act(by, block)
        return image * collective.chunks_per_rank + piece

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Elements and how often to take each, 0 to `times`-1 times, one after the other, to get every element once:
        in ascending order when the last varies slowest."""
        steps, radix = [], 1
        for size, motion, order in zip(self.sizes, self.motions, self._orders, strict=True):
            steps += [(step * radix, times) for step, times in motion.steps(size) if times > 1]
            radix *= order
        return tuple(steps)


NONE = Symmetry()
