"""Bruck's algorithms: ceil(log2 n) steps for any number of ranks, with more and more blocks in a message.

all_gather: in step s a rank sends the 2^s blocks it has 2^s ranks ahead; S(n-1)/n leaves each rank. reduce_scatter is
its mirror image. all_to_all: a block travels the binary digits of its distance; S/2 or so leaves a rank in each step.
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.algorithms.trees import Tree, binomial_tree
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "bruck", "from_every_rank"]


def bruck(collective: Collective) -> Moves:
    if collective.kind is Kind.ALL_TO_ALL:
        return _all_to_all(collective.num_ranks, collective.chunks_per_rank)
    return from_every_rank(collective, binomial_tree(collective.num_ranks, far_first=False))


def from_every_rank(collective: Collective, tree: Tree) -> Moves:
    """all_gather or reduce_scatter, each rank's block along the tree, rooted at that rank."""
    n, k = collective.num_ranks, np.arange(collective.chunks_per_rank)  # of rank 0: the other trees are images
    step, parent, child = (column[:, None] for column in (tree.step, tree.parent, tree.child))
    gather = Moves.of(step, parent, child, k, reduce=False, symmetry=Symmetry.shifts(n))
    return gather.reversed(reduce=True) if collective.reducing else gather


def _all_to_all(n: int, f: int) -> Moves:
    target, parts = np.arange(n), []  # of the blocks of rank 0
    for step in range((n - 1).bit_length()):
        digit = 1 << step
        travels = target[target & digit > 0][:, None]
        at = travels % digit  # the lower digits are done
        chunk = travels * f + np.arange(f)
        parts.append(Moves.of(step, at, at + digit, chunk, reduce=False, symmetry=Symmetry.shifts(n)))
    return Moves.together(*parts)


NATIVE = (
    NativeAlgorithm(
        name="bruck",
        summary="more and more blocks in a message, to ranks ever farther ahead",
        source="Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems,"
        " 1997",
        forms=(
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "ceil(log n)", "S(n-1)/n"),
            Form((Kind.ALL_TO_ALL,), "ceil(log n)", "about S/2 log n"),
        ),
        moves=anywhere(bruck),
    ),
)
