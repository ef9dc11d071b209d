"""Recursive vector halving and doubling, for a power of two of ranks.

all_reduce: 2 log2(n) steps, 2(n-1)/n of the buffer through each rank; reduce_scatter and all_gather: one half of that
each. The largest messages, half the buffer, go between neighbours.
"""

import numpy as np

from hocket.schedule.algorithms.exchange import exchange, power_of_two, xor
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "halving_doubling"]


def halving_doubling(collective: Collective) -> Moves:
    n, f = collective.num_ranks, collective.chunks_per_rank
    partners = [1 << bit for bit in range(n.bit_length() - 1)]
    return exchange(collective.kind, xor(n), partners).in_pieces(f, np.arange(f))


NATIVE = (
    NativeAlgorithm(
        name="halving_doubling",
        summary="halves of the buffer between partners ever farther apart, and back",
        source="Rabenseifner, Optimization of collective reduction operations, 2004",
        needs="n a power of two",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 log n", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "log n", "S(n-1)/n"),
        ),
        moves=anywhere(halving_doubling),
        require=power_of_two("halving_doubling", "ring or double_binary_tree"),
    ),
)
