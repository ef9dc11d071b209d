"""What an algorithm is made of: who sends which chunk to whom at which step, before there is any topology."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hocket.schedule.symmetry import NONE, Symmetry

__all__ = ["Moves"]

_Column = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moves:
    """Columns of equal length: at `step` collective rank `src` sends `chunk` to `dst`, which copies it or, if
    `reduce`, adds it. A move uses what its source received in earlier steps or, where it is `own`, what its source had
    before the first. Numbers from the number of ranks on are
    the topology's switches that compute, in their order.

    A move stands for all its images under `symmetry` too: ranks are permuted, and chunks with the ranks in their
    numbers. An algorithm in which all ranks do alike says what one of them does.
    """

    step: _Column
    src: _Column
    dst: _Column
    chunk: _Column
    reduce: NDArray[np.bool_]
    own: NDArray[np.bool_]
    symmetry: Symmetry

    @classmethod
    def of(
        cls,
        step: ArrayLike,
        src: ArrayLike,
        dst: ArrayLike,
        chunk: ArrayLike,
        *,
        reduce: bool,
        own: bool = False,
        symmetry: Symmetry = NONE,
    ) -> "Moves":
        """One move per element of the columns broadcast against each other."""
        steps, sources, targets, chunks = (
            column.ravel().astype(np.int64) for column in np.broadcast_arrays(step, src, dst, chunk)
        )
        marks = np.full(len(steps), reduce), np.full(len(steps), own)
        return cls(steps, sources, targets, chunks, *marks, symmetry)

    @property
    def num_steps(self) -> int:
        return int(self.step.max(initial=-1)) + 1

    @classmethod
    def together(cls, *parts: "Moves") -> "Moves":
        """All moves of the parts, which have one symmetry, each at its own step; without parts none."""
        (symmetry,) = {part.symmetry for part in parts} or {NONE}
        parts = (cls.of([], [], [], [], reduce=False), *parts)
        return cls(
            step=np.concatenate([part.step for part in parts]),
            src=np.concatenate([part.src for part in parts]),
            dst=np.concatenate([part.dst for part in parts]),
            chunk=np.concatenate([part.chunk for part in parts]),
            reduce=np.concatenate([part.reduce for part in parts]),
            own=np.concatenate([part.own for part in parts]),
            symmetry=symmetry,
        )

    def at(self, step: _Column) -> "Moves":
        """The same moves at other steps."""
        return replace(self, step=step)

    def delayed(self, steps: int) -> "Moves":
        return replace(self, step=self.step + steps)

    def then(self, after: "Moves") -> "Moves":
        """These moves, and after the last step of them those of `after`."""
        return Moves.together(self, after.delayed(self.num_steps))

    def reversed(self, *, reduce: bool) -> "Moves":
        """The moves backwards in time: what was summed up along them is copied back (or the other way round). None of
        them is `own`."""
        assert not self.own.any()
        return replace(
            self,
            step=self.num_steps - 1 - self.step,
            src=self.dst,
            dst=self.src,
            reduce=np.full(len(self.chunk), reduce),
        )

    def relabelled(self, label: NDArray[np.int64]) -> "Moves":
        """Of moves with one chunk per rank: those of rank r and its chunk become those of rank `label[r]` and its.
        Labels must turn images into images."""
        return replace(self, src=label[self.src], dst=label[self.dst], chunk=label[self.chunk])

    def in_pieces(self, chunks_per_rank: int, pieces: ArrayLike) -> "Moves":
        """Of moves with one chunk per rank: the same with the given `pieces` of the `chunks_per_rank` of each rank."""
        chunk = self.chunk[:, None] * chunks_per_rank + np.asarray(pieces)
        step, src, dst = (np.repeat(column, chunk.shape[1]) for column in (self.step, self.src, self.dst))
        reduce, own = (np.repeat(column, chunk.shape[1]) for column in (self.reduce, self.own))
        return Moves(step, src, dst, chunk.ravel(), reduce, own, self.symmetry)

    def one_by_one(self) -> "Moves":
        """Of moves with one chunk per rank: the images spelled out."""
        image = np.arange(self.symmetry.order)[:, None]
        src, dst, chunk = (self.symmetry.act(image, column).ravel() for column in (self.src, self.dst, self.chunk))
        reduce, own = (np.tile(column, len(image)) for column in (self.reduce, self.own))
        return Moves(np.tile(self.step, len(image)), src, dst, chunk, reduce, own, NONE)
