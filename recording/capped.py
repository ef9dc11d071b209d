"""Costs of which no block has more than is usual: who is slow all the time keeps what it costs, a stall does not.

Who deals the names of blocks anew (`chance`) deals that of a long stall to somebody in every deal: so chance gives
somebody as much as the stall, and who costs less in all is hidden by it, be it ever so slow in every step. What a block
is cut to depends on all costs and on nobody's name: if all are alike, the cut costs may be dealt as the whole ones.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["capped"]

_USUAL = 1.5  # times what the greatest cost of a block is in the middle: more is cut off


def capped(sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Costs, units by blocks, each cut to half as much again as the greatest of the median block."""
    usual = int(_USUAL * np.median(sums.max(axis=0, initial=0))) if sums.size else 0
    return np.minimum(sums, usual)
