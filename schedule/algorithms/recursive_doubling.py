"""Recursive doubling, for a power of two of ranks: in step s ranks 2^s apart exchange all that they have.

log2(n) steps. all_reduce exchanges partial sums of the whole buffer: S log2(n) leaves each rank, in the fewest steps
there can be; for small buffers. all_gather: S(n-1)/n leaves each rank, the largest messages on the longest ways.
"""

from dataclasses import replace

import numpy as np

from hocket.schedule.algorithms.exchange import exchange, power_of_two, xor
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "recursive_doubling"]


def recursive_doubling(collective: Collective) -> Moves:
    n, f = collective.num_ranks, collective.chunks_per_rank
    step = np.arange(n.bit_length() - 1)
    if collective.kind is Kind.ALL_REDUCE:
        # All ranks send their chunks in one order: none gets the next sum of a chunk before it has sent its own.
        alike = replace(xor(n), fixes_chunks=True)
        return Moves.of(step[:, None], 0, 1 << step[:, None], np.arange(n * f), reduce=True, symmetry=alike)
    return exchange(Kind.ALL_GATHER, xor(n), (1 << step[::-1]).tolist()).in_pieces(f, np.arange(f))


NATIVE = (
    NativeAlgorithm(
        name="recursive_doubling",
        summary="ranks ever farther apart exchange all that they have, in the fewest steps",
        source="Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005",
        needs="n a power of two",
        forms=(
            Form((Kind.ALL_REDUCE,), "log n", "S log n"),
            Form((Kind.ALL_GATHER,), "log n", "S(n-1)/n"),
        ),
        moves=anywhere(recursive_doubling),
        require=power_of_two("recursive_doubling", "bruck for all_gather, double_binary_tree for all_reduce"),
    ),
)
