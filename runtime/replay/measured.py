"""What a replay measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measured"]


@dataclass(frozen=True, eq=False)
class Measured:
    """`start_ns`, `finish_ns` (int64, iterations x nodes of the workload): when each node was issued and ended, in
    nanoseconds since the first of the iteration began. With `one_clock` the ranks' times are of one clock; else each
    rank's are from its own start, which all had at about the same time."""

    start_ns: NDArray[np.int64]
    finish_ns: NDArray[np.int64]
    one_clock: bool

    @property
    def num_iterations(self) -> int:
        return len(self.start_ns)
