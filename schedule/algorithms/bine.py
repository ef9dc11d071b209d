"""Bine (binomial negabinary) trees and butterflies, for a power of two of ranks: a third shorter than binomial ones.

log2(n) steps (plus f-1 for f chunks in a pipeline) and bytes as `binomial`, but the ranks that have the data send it to
their partner in Swing's order run backwards, on alternate sides, at most a third of the ranks away: fewer bytes cross
the upper links of a tapered network. all_reduce, reduce_scatter and all_gather are butterflies with the same partners:
steps and bytes as `halving_doubling`.
"""

import numpy as np

from hocket.schedule.algorithms.exchange import exchange, power_of_two
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.algorithms.swing import partner
from hocket.schedule.algorithms.trees import Tree
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "bine"]

_BUTTERFLIES = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)


def bine(collective: Collective) -> Moves:
    n, f = collective.num_ranks, collective.chunks_per_rank
    steps = n.bit_length() - 1
    if collective.kind in _BUTTERFLIES:
        partners = [int(partner(n, step)[0]) for step in range(steps)]
        return exchange(collective.kind, Symmetry.swings(n), partners).in_pieces(f, np.arange(f))
    reached, edges = np.zeros(1, np.int64), [np.zeros((3, 0), np.int64)]
    for step in range(steps):
        child = partner(n, steps - 1 - step)[reached]
        edges.append(np.stack([np.full(len(child), step), reached, child]))
        reached = np.concatenate([reached, child])
    return Tree(*np.concatenate(edges, axis=1)).rooted_at(collective.root).moves(collective)


NATIVE = (
    NativeAlgorithm(
        name="bine",
        summary="binomial trees and butterflies over shorter routes",
        source="De Sensi et al., Bine trees: enhancing collective operations by optimizing communication locality, SC"
        " 2025",
        needs="n a power of two",
        forms=(
            Form((Kind.BROADCAST, Kind.REDUCE), "log n + f-1", "S log n"),
            Form((Kind.GATHER, Kind.SCATTER), "log n", "root: S(n-1)/n"),
            Form((Kind.ALL_REDUCE,), "2 log n", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "log n", "S(n-1)/n"),
        ),
        moves=anywhere(bine),
        require=power_of_two("bine", "binomial or bruck"),
    ),
)
