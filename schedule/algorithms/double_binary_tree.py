"""Two binary trees, each for every other chunk: the leaves of one are the inner ranks of the other.

A chunk climbs its tree and comes down again (all_reduce), or does one of the two; the chunks follow each other. Steps
for f chunks per tree: the height of the tree, ceil(log2 n), twice for all_reduce, plus f-1. (The trees are NCCL's. In
an all_reduce over an odd number of ranks one rank is an inner one in both. That a chunk descends while the next ones
still climb is the overlap of C-Cube: Cho et al., "Logical/physical topology-aware collective communication", HPCA
2023.)
"""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere, unalike
from hocket.schedule.algorithms.trees import Tree
from hocket.schedule.collective import Collective, Kind

_Ranks = NDArray[np.int64]

__all__ = ["NATIVE", "double_binary_tree"]


def double_binary_tree(collective: Collective) -> Moves:
    n = collective.num_ranks
    trees = _rooted_trees(n, collective.root) if collective.rooted else _twin_trees(n)
    parts = []
    for first, parent in enumerate(trees):
        child = np.flatnonzero(parent >= 0)
        tree = Tree(_depth(parent)[child] - 1, parent[child], child)
        parts.append(tree.pipelined(collective.kind, np.arange(first, collective.num_chunks, 2)))
    return Moves.together(*parts)


def _tree(n: int) -> _Ranks:
    """The parent of each of n ranks (-1: the root, rank 0); odd ranks are leaves."""
    rank = np.arange(n)
    lowest_bit = rank & -rank
    above = (rank ^ lowest_bit) | (lowest_bit << 1)
    parent = np.where(above < n, above, rank ^ lowest_bit)
    parent[0] = -1
    return parent


def _relabelled(parent: _Ranks, label: _Ranks) -> _Ranks:
    """The tree with rank r called `label[r]`."""
    renamed = np.empty_like(parent)
    renamed[label] = np.where(parent < 0, -1, label[parent])
    return renamed


def _twin_trees(n: int) -> list[_Ranks]:
    """A tree and its mirror image (n odd: its shift), so that leaves and inner ranks change places."""
    rank = np.arange(n)
    return [_tree(n), _relabelled(_tree(n), n - 1 - rank if n % 2 == 0 else (rank + 1) % n)]


def _rooted_trees(n: int, root: int) -> list[_Ranks]:
    """The same with one root for both: only the other ranks change places."""
    rank = np.arange(n)
    other = np.where(rank == 0, 0, n - rank if n % 2 == 1 else rank % (n - 1) + 1)
    return [_relabelled(_tree(n), (root + label) % n) for label in (rank, other)]


def _depth(parent: _Ranks) -> _Ranks:
    depth = np.zeros_like(parent)
    above = parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above < 0, -1, parent[above])
    return depth


NATIVE = (
    NativeAlgorithm(
        name="double_binary_tree",
        summary="two binary trees, each for every other chunk, with C-Cube's overlap of both directions",
        source="Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 ceil(log n) + c-1", "about 2S", "c = nf/2 chunks a tree"),
            Form((Kind.BROADCAST, Kind.REDUCE), "ceil(log n) + c-1", "about S", "c = f/2 chunks a tree"),
        ),
        moves=anywhere(double_binary_tree),
        alike=unalike,
    ),
)
