"""The model of a collective's time over its size: the quickest of up to three protocols.

A protocol takes

    t(S) = a + S / B + g sqrt(a S / B)

with latency a, bandwidth B (as algbw) and pipelining g. Without the last term this is Hockney's model. It is there
because a collective is cut into chunks that go from rank to rank one after the other: k chunks on a path of h hops take
(h + k - 1) (c + S / (k B)), least at k = sqrt((h - 1) S / (B c)), and that is a + S / B + 2 sqrt(a' S / B), where c is
the cost of a chunk and a' the part of a that the hops are. NCCL lets chunks grow with the size, but not from nothing to
everything: g is between 0 (whole) and 2 (the best cut), one for all protocols.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PROTOCOLS", "Pieces"]

#: Names of 1, 2 or 3 pieces, by rising latency: as NCCL's protocols take turns. Which of them ran is not measured.
PROTOCOLS = {1: ("Simple",), 2: ("LL", "Simple"), 3: ("LL", "LL128", "Simple")}

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Latency in us and the inverse of bandwidth in us per byte of each protocol (float64, by rising latency), and the
    pipelining of all."""

    latency_us: _Floats
    us_per_byte: _Floats
    pipelining: float

    @property
    def names(self) -> tuple[str, ...]:
        return PROTOCOLS[len(self.latency_us)]

    @property
    def bandwidth(self) -> _Floats:
        """algbw that each protocol comes to at large sizes, bytes/s."""
        return 1e6 / self.us_per_byte

    def of_each(self, size_bytes: ArrayLike) -> _Floats:
        """Microseconds by each protocol (protocols x sizes)."""
        moved = np.multiply.outer(self.us_per_byte, np.asarray(size_bytes, np.float64))
        latency = self.latency_us.reshape(-1, *[1] * (moved.ndim - 1))
        return latency + moved + self.pipelining * np.sqrt(latency * moved)

    def time_us(self, size_bytes: ArrayLike) -> _Floats:
        """Microseconds by the quickest protocol."""
        quickest: _Floats = self.of_each(size_bytes).min(axis=0)
        return quickest
