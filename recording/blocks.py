"""Sums over blocks of successive steps: few and long, of a job of any length."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockSums"]

Numbers = NDArray[np.int64]

# At most so many blocks; when they are full, neighbours become one. From then on there is at least half as many.
_BLOCKS = 64


class BlockSums:
    """Of each of `units` what it cost in each block, of costs that come in order, in pieces of any size."""

    def __init__(self, units: int) -> None:
        self._sums = np.zeros((units, _BLOCKS), np.int64)
        self._steps = 0
        self._width = 1  # steps a block
        self._last: int | None = None

    def add(self, costs: Numbers, step: Numbers) -> None:
        """Adds a column a collective, of units by collectives; `step` is each one's, the same in succession."""
        if len(step) == 0:
            return
        changed = np.diff(step, prepend=step[0]) != 0
        changed[0] = self._last is None or step[0] != self._last
        number = self._steps - 1 + np.cumsum(changed)
        while number[-1] // self._width >= _BLOCKS:
            self._sums[:, : _BLOCKS // 2] = self._sums[:, ::2] + self._sums[:, 1::2]
            self._sums[:, _BLOCKS // 2 :] = 0
            self._width *= 2
        block = number // self._width
        begins = np.flatnonzero(np.diff(block, prepend=-1))
        self._sums[:, block[begins]] += np.add.reduceat(costs, begins, axis=1)
        self._steps, self._last = int(number[-1]) + 1, int(step[-1])

    @property
    def steps(self) -> int:
        """How many steps there were."""
        return self._steps

    @property
    def sums(self) -> Numbers:
        """Units by blocks."""
        return self._sums[:, : -(-self._steps // self._width)]
