"""Binomial trees: the ranks that have the data double in every step; the farthest ranks are served first.

ceil(log2 n) steps, plus f-1 to pipeline the f chunks of broadcast and reduce. broadcast, reduce: the root sends (or
gets) the buffer S ceil(log2 n) times. scatter, gather: the root sends (or gets) S(n-1)/n; every rank on a block's way
sends it again.
"""

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.algorithms.trees import binomial_tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "binomial"]


def binomial(collective: Collective) -> Moves:
    tree = binomial_tree(collective.num_ranks, far_first=True).rooted_at(collective.root)
    return tree.moves(collective)


NATIVE = (
    NativeAlgorithm(
        name="binomial",
        summary="the ranks that have the data double in every step",
        source="Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005",
        forms=(
            Form((Kind.BROADCAST, Kind.REDUCE), "ceil(log n) + f-1", "S ceil(log n)"),
            Form((Kind.GATHER, Kind.SCATTER), "ceil(log n)", "root: S(n-1)/n"),
        ),
        moves=anywhere(binomial),
    ),
)
