"""Along trees that somebody else packed: each spreads its share of its root's chunks, or gathers their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology

__all__ = ["PackedTree", "along_trees"]

_KINDS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE)


@dataclass(frozen=True, slots=True)
class PackedTree:
    """A tree of all ranks: from whom each but the root gets what it carries, the next `chunks` of the root's own."""

    root: int
    parent: Mapping[int, int]
    chunks: int


def along_trees(trees: Sequence[PackedTree], collective: Collective, topology: Topology) -> Schedule:
    """The untimed schedule of trees: out of the roots (all_gather), into them (reduce_scatter), or both (all_reduce).

    Raises ScheduleError for other kinds, for what is no tree of all ranks, and where the trees of a root do not carry
    all its chunks.
    """
    if collective.kind not in _KINDS:
        raise ScheduleError(f"trees of every rank do {', '.join(_KINDS)}, not {collective.kind}")
    n, f = collective.num_ranks, collective.chunks_per_rank
    first = [0] * n
    parts = []
    for tree in trees:
        if sorted([tree.root, *tree.parent]) != list(range(n)) or not {*tree.parent.values()} <= set(range(n)):
            raise ScheduleError(f"the tree of rank {tree.root} does not reach each of {n} ranks once")
        chunks = tree.root * f + first[tree.root] + np.arange(tree.chunks)
        first[tree.root] += tree.chunks
        ends = np.array([(parent, child, _depth(tree, child)) for child, parent in tree.parent.items()])[:, :, None]
        parts.append(Moves.of(ends[:, 2] - 1, ends[:, 0], ends[:, 1], chunks, reduce=False))
    if first != [f] * n:
        rank = next(rank for rank in range(n) if first[rank] != f)
        raise ScheduleError(f"the trees of rank {rank} carry {first[rank]} of its {f} chunks")
    out = Moves.together(*parts)
    moves = out if collective.kind is Kind.ALL_GATHER else out.reversed(reduce=True)
    if collective.kind is Kind.ALL_REDUCE:
        moves = moves.then(out)
    return Pattern.of(moves, collective, topology, None, "trees").spelled_out()


def _depth(tree: PackedTree, rank: int) -> int:
    depth = 0
    while rank != tree.root:
        rank = tree.parent[rank]
        depth += 1
        if depth > len(tree.parent):
            raise ScheduleError(f"the tree of rank {tree.root} has a cycle through rank {rank}")
    return depth
