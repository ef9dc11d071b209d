"""One complete binary tree, its chunks in a pipeline: rank r sits above the ranks 2r+1 and 2r+2 (after the root).

Steps for c chunks (all_reduce: nf, broadcast and reduce: f): floor(log2 n), twice for all_reduce, plus c-1; an inner
rank sends the buffer twice down and, in all_reduce, once up. `double_binary_tree` shares that with the leaves.
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere, unalike
from hocket.schedule.algorithms.trees import Tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "binary_tree"]


def binary_tree(collective: Collective) -> Moves:
    child = np.arange(1, collective.num_ranks)
    parent = (child - 1) // 2
    depth = np.searchsorted(2 ** np.arange(1, 63), parent + 1, side="right")
    root = collective.root if collective.rooted else 0
    return Tree(depth, parent, child).rooted_at(root).pipelined(collective.kind, np.arange(collective.num_chunks))


NATIVE = (
    NativeAlgorithm(
        name="binary_tree",
        summary="one complete binary tree, its chunks in a pipeline",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 floor(log n) + c-1", "3S", "c = nf"),
            Form((Kind.BROADCAST, Kind.REDUCE), "floor(log n) + c-1", "2S, S", "c = f"),
        ),
        moves=anywhere(binary_tree),
        alike=unalike,
    ),
)
