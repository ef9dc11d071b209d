"""Recursive vector halving and doubling, for a power of two of ranks.

all_reduce: 2 log2(n) steps, 2(n-1)/n of the buffer through each rank; reduce_scatter and all_gather: one half of that
each (Rabenseifner, "Optimization of collective reduction operations", 2004). The largest messages, half the buffer, go
between neighbours.
"""

import numpy as np

from hocket.schedule.algorithms.exchange import exchange, require_power_of_two, xor
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "halving_doubling"]

KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)


def halving_doubling(collective: Collective) -> Moves:
    """Raises ScheduleError unless the number of ranks is a power of two."""
    n, f = collective.num_ranks, collective.chunks_per_rank
    require_power_of_two("halving_doubling", n, "ring or double_binary_tree")
    partners = [1 << bit for bit in range(n.bit_length() - 1)]
    return exchange(collective.kind, xor(n), partners).in_pieces(f, np.arange(f))
