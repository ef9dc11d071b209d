"""Pairwise exchange, for a power of two of ranks: in step s the ranks r and r xor s exchange their blocks.

n-1 steps, S(n-1)/n leaves each rank; every step is a perfect matching, so no rank is ever busy with two others.
"""

import numpy as np

from hocket.schedule.algorithms.exchange import power_of_two, xor
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "pairwise"]


def pairwise(collective: Collective) -> Moves:
    n, f = collective.num_ranks, collective.chunks_per_rank
    step, k = np.arange(n - 1)[:, None], np.arange(f)
    peer = step + 1  # of rank 0, and so is its block: of an all_to_all those of source 0 come first
    return Moves.of(step, 0, peer, peer * f + k, reduce=collective.reducing, symmetry=xor(n))


NATIVE = (
    NativeAlgorithm(
        name="pairwise",
        summary="in step s the ranks r and r xor s exchange their blocks",
        source="Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005",
        needs="n a power of two",
        forms=(Form((Kind.ALL_TO_ALL, Kind.REDUCE_SCATTER), "n-1", "S(n-1)/n"),),
        moves=anywhere(pairwise),
        require=power_of_two("pairwise", "direct"),
    ),
)
