"""Parallel aggregated trees: Bruck's all_gather with the far ranks first, so that the large messages stay near.

ceil(log2 n) steps for any number of ranks; S(n-1)/n leaves each rank. reduce_scatter is the mirror image, near ranks
first. (All blocks of a step go at once, as in NCCL for small sizes. For large ones its buffers limit them, at the price
of steps.)
"""

from hocket.schedule.algorithms.bruck import from_every_rank
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.algorithms.trees import binomial_tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "pat"]


def pat(collective: Collective) -> Moves:
    return from_every_rank(collective, binomial_tree(collective.num_ranks, far_first=True))


NATIVE = (
    NativeAlgorithm(
        name="pat",
        summary="as bruck, far ranks first, so that the large messages stay near",
        source="Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, 2025",
        forms=(Form((Kind.ALL_GATHER, Kind.REDUCE_SCATTER), "ceil(log n)", "S(n-1)/n"),),
        moves=anywhere(pat),
    ),
)
