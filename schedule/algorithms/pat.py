"""Parallel aggregated trees: Bruck's all_gather with the far ranks first, so that the large messages stay near.

ceil(log2 n) steps for any number of ranks; S(n-1)/n leaves each rank. reduce_scatter is the mirror image, near ranks
first. (Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025; here with all
blocks of a step at once, as NCCL does for small sizes. For large ones its buffers limit them, at the price of steps.)
"""

from hocket.schedule.algorithms.bruck import from_every_rank
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.trees import binomial_tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "pat"]

KINDS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER)


def pat(collective: Collective) -> Moves:
    return from_every_rank(collective, binomial_tree(collective.num_ranks, far_first=True))
