"""A tree over switches that compute: they add what comes up and send copies down, so that ranks need not.

Its root is the switch nearest to the farthest rank; where several are as near they take the chunks in turn. all_reduce:
a chunk climbs to the root and descends to all ranks, the next right behind it: c chunks take 2h + c-1 steps on a tree
of height h (1: one switch). S leaves each rank and S comes back, half of what any algorithm without such switches
needs. The others use the tree as if a rank were its root: broadcast and all_gather descend from the rank that has the
chunk, reduce and reduce_scatter climb to the one that wants it, at most 2h + f-1 steps. all_gather: S/n leaves a rank,
S(n-1)/n comes in; reduce_scatter the other way around; broadcast and reduce: S. (On one switch: Klenk et al., "An
in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA 2020, which became NVLink
SHARP.)
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, unalike
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.switch_trees import SwitchTree, switch_trees
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "switch_tree"]


def switch_tree(collective: Collective, place: Place, algorithm: str = "switch_tree") -> Moves:
    """Raises ScheduleError, in the name of `algorithm`, unless all ranks reach a switch that computes over switches."""
    n, f = collective.num_ranks, collective.chunks_per_rank
    trees = _trees(place, algorithm)
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


def _trees(place: Place, algorithm: str = "switch_tree") -> list[SwitchTree]:
    return switch_trees(algorithm, place, range(len(place.ranks))) if len(place.ranks) > 1 else []


NATIVE = (
    NativeAlgorithm(
        name="switch_tree",
        summary="switches add on the way up and copy on the way down (SHARP; NVLS on one switch), h high",
        source="Graham et al., Scalable hierarchical aggregation protocol (SHARP), COM-HPC 2016",
        needs="a switch that computes, reached by all ranks over switches",
        forms=(
            Form((Kind.ALL_REDUCE,), "2h + c-1", "S", "c = nf"),
            Form((Kind.BROADCAST, Kind.REDUCE), "up to 2h + c-1", "S", "c = f"),
            Form((Kind.ALL_GATHER, Kind.REDUCE_SCATTER), "up to 2h + c-1", "S/n, S(n-1)/n", "c = f"),
        ),
        moves=switch_tree,
        require=_trees,
        alike=unalike,
        example="dgx-h100:nodes=2,gpus=2,nvls=1,sharp=1",
    ),
)
