"""A tree over switches that compute: they add what comes up and send copies down, so that ranks need not.

Its root is the switch nearest to the farthest rank; where several are as near they take the chunks in turn. all_reduce:
a chunk climbs to the root and descends to all ranks, the next right behind it: c chunks take 2h + c-1 steps on a tree
of height h (1: one switch). S leaves each rank and S comes back, half of what any algorithm without such switches
needs. The others use the tree as if a rank were its root: broadcast and all_gather descend from the rank that has the
chunk, reduce and reduce_scatter climb to the one that wants it, at most 2h + f-1 steps. all_gather: S/n leaves a rank,
S(n-1)/n comes in; reduce_scatter the other way around; broadcast and reduce: S. (Graham et al., "Scalable hierarchical
aggregation protocol (SHARP)", COM-HPC 2016. On one switch: Klenk et al., "An in-network architecture for accelerating
shared-memory multiprocessor collectives", ISCA 2020, which became NVLink SHARP.)
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.switch_trees import switch_trees
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "switch_tree"]

KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.BROADCAST, Kind.REDUCE)


def switch_tree(collective: Collective, place: Place, algorithm: str = "switch_tree") -> Moves:
    """Raises ScheduleError, in the name of `algorithm`, unless all ranks reach a switch that computes over switches."""
    n, f = collective.num_ranks, collective.chunks_per_rank
    trees = switch_trees(algorithm, place, range(n)) if n > 1 else []
    along = Kind.REDUCE if collective.reducing else Kind.BROADCAST
    parts = []
    for first, tree in enumerate(trees):
        if collective.kind is Kind.ALL_REDUCE:
            chunks = np.arange(first, collective.num_chunks, len(trees))
            parts.append(tree.rooted_at(tree.root).pipelined(Kind.ALL_REDUCE, chunks))
            continue
        pieces = np.arange(first, f, len(trees))
        if collective.rooted:
            parts.append(tree.rooted_at(collective.root).pipelined(along, pieces))
        else:
            parts += [tree.rooted_at(rank).pipelined(along, rank * f + pieces) for rank in range(n)]
    return Moves.together(*parts)
