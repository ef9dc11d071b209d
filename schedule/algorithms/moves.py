"""What an algorithm is made of: who sends which chunk to whom at which step, before there is any topology."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Moves"]

_Column = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moves:
    """Columns of equal length: at `step` collective rank `src` sends `chunk` to `dst`, which copies it or, if
    `reduce`, adds it. A move uses what its source received in earlier steps."""

    step: _Column
    src: _Column
    dst: _Column
    chunk: _Column
    reduce: NDArray[np.bool_]

    @classmethod
    def of(cls, step: ArrayLike, src: ArrayLike, dst: ArrayLike, chunk: ArrayLike, *, reduce: bool) -> "Moves":
        """One move per element of the columns broadcast against each other."""
        steps, sources, targets, chunks = (
            column.ravel().astype(np.int64) for column in np.broadcast_arrays(step, src, dst, chunk)
        )
        return cls(steps, sources, targets, chunks, np.full(len(steps), reduce))

    @property
    def num_steps(self) -> int:
        return int(self.step.max(initial=-1)) + 1

    @classmethod
    def together(cls, *parts: "Moves") -> "Moves":
        """All moves of the parts, each at its own step; without parts none."""
        names = ("step", "src", "dst", "chunk", "reduce")
        none = cls.of([], [], [], [], reduce=False)
        return cls(*(np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in names))

    def at(self, step: _Column) -> "Moves":
        """The same moves at other steps."""
        return replace(self, step=step)

    def delayed(self, steps: int) -> "Moves":
        return replace(self, step=self.step + steps)

    def then(self, after: "Moves") -> "Moves":
        """These moves, and after the last step of them those of `after`."""
        return Moves.together(self, after.delayed(self.num_steps))

    def reversed(self, *, reduce: bool) -> "Moves":
        """The moves backwards in time: what was summed up along them is copied back (or the other way round)."""
        return Moves(self.num_steps - 1 - self.step, self.dst, self.src, self.chunk, np.full(len(self.chunk), reduce))

    def relabelled(self, label: NDArray[np.int64]) -> "Moves":
        """Of moves with one chunk per rank: those of rank r and its chunk become those of rank `label[r]` and its."""
        return replace(self, src=label[self.src], dst=label[self.dst], chunk=label[self.chunk])

    def in_pieces(self, chunks_per_rank: int, pieces: ArrayLike) -> "Moves":
        """Of moves with one chunk per rank: the same with the given `pieces` of the `chunks_per_rank` of each rank."""
        chunk = self.chunk[:, None] * chunks_per_rank + np.asarray(pieces)
        step, src, dst = (np.repeat(column, chunk.shape[1]) for column in (self.step, self.src, self.dst))
        return Moves(step, src, dst, chunk.ravel(), np.repeat(self.reduce, chunk.shape[1]))
