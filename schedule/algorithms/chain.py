"""A chain in rank order: a chunk is summed up along it to rank 0, then copied back, the next chunks right behind.

all_reduce of c = nf chunks: 2(n-1) + c-1 steps, at most 2S leaves each rank. (broadcast and reduce along a chain are
those of `ring`.) It needs no link between the last rank and the first.
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere, unalike
from hocket.schedule.algorithms.trees import Tree
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "chain"]


def chain(collective: Collective) -> Moves:
    hop = np.arange(collective.num_ranks - 1)
    return Tree(hop, hop, hop + 1).pipelined(collective.kind, np.arange(collective.num_chunks))


NATIVE = (
    NativeAlgorithm(
        name="chain",
        summary="up a chain in rank order to rank 0 and back, the chunks in a pipeline",
        forms=(Form((Kind.ALL_REDUCE,), "2(n-1) + c-1", "2S", "c = nf"),),
        moves=anywhere(chain),
        alike=unalike,
    ),
)
