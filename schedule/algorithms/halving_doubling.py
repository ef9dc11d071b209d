"""Recursive vector halving and doubling, for a power of two of ranks.

all_reduce: 2 log2(n) steps, 2(n-1)/n of the buffer through each rank; reduce_scatter and all_gather: one half of that
each (Rabenseifner, "Optimization of collective reduction operations", 2004). The largest messages, half the buffer, go
between neighbours.
"""

import numpy as np

from hocket.core.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "halving_doubling"]

KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)


def halving_doubling(collective: Collective) -> Moves:
    """Raises ScheduleError unless the number of ranks is a power of two."""
    n, f = collective.num_ranks, collective.chunks_per_rank
    if n & (n - 1):
        raise ScheduleError(f"halving_doubling needs a power of two of ranks, got {n}; use ring or double_binary_tree")
    # Before the step with distance d a rank still works on the blocks b that agree with it in the bits below d, that
    # is d divides rank ^ b; it gives away those that disagree in bit d: d is the lowest bit set in rank ^ b.
    rank = np.arange(n)[:, None, None]
    difference = np.arange(1, n)[:, None]
    distance = difference & -difference
    step = np.searchsorted(2 ** np.arange(n.bit_length()), distance)
    halving = Moves.of(step, rank, rank ^ distance, (rank ^ difference) * f + np.arange(f), reduce=True)
    doubling = halving.reversed(reduce=False)
    if collective.kind is Kind.ALL_REDUCE:
        return halving.then(doubling)
    return halving if collective.reducing else doubling
