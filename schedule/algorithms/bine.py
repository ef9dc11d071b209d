"""Bine (binomial negabinary) trees, for a power of two of ranks: binomial trees whose edges are a third shorter.

log2(n) steps (plus f-1 for f chunks in a pipeline) and bytes as `binomial`, but the ranks that have the data send it to
their partner in Swing's order run backwards, on alternate sides, at most a third of the ranks away: fewer bytes cross
the upper links of a tapered network. (De Sensi et al., "Bine trees: enhancing collective operations by optimizing
communication locality", SC 2025; its butterflies for all_reduce are those of `swing` on one dimension.)
"""

import numpy as np

from hocket.schedule.algorithms.exchange import require_power_of_two
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.swing import partner
from hocket.schedule.algorithms.trees import Tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "bine"]

KINDS = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)


def bine(collective: Collective) -> Moves:
    """Raises ScheduleError unless the number of ranks is a power of two."""
    n = collective.num_ranks
    require_power_of_two("bine", n, "binomial")
    reached, edges = np.zeros(1, np.int64), [np.zeros((3, 0), np.int64)]
    steps = n.bit_length() - 1
    for step in range(steps):
        child = partner(n, steps - 1 - step)[reached]
        edges.append(np.stack([np.full(len(child), step), reached, child]))
        reached = np.concatenate([reached, child])
    return Tree(*np.concatenate(edges, axis=1)).rooted_at(collective.root).moves(collective)
