"""Everybody talks to everybody: the fewest hops, and n-1 peers for each rank.

Step s is the exchange with the peer s+1 ranks ahead, so the steps are permutations; within a phase they do not depend
on each other. all_reduce has two phases: a reduce_scatter, then an all_gather.
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["KINDS", "direct"]

KINDS = tuple(kind for kind in Kind if kind is not Kind.CUSTOM)


def direct(collective: Collective) -> Moves:
    n, f, root = collective.num_ranks, collective.chunks_per_rank, collective.root
    step = np.arange(n - 1)[:, None, None]
    rank = np.arange(n)[:, None]
    k = np.arange(f)
    peer = (rank + step + 1) % n
    far = (root + step[:, 0] + 1) % n  # the root's peer
    match collective.kind:
        case Kind.ALL_GATHER:
            return Moves.of(step, rank, peer, rank * f + k, reduce=False)
        case Kind.REDUCE_SCATTER:
            return Moves.of(step, rank, peer, peer * f + k, reduce=True)
        case Kind.ALL_REDUCE:
            scatter = Moves.of(step, rank, peer, peer * f + k, reduce=True)
            return scatter.then(Moves.of(step, rank, peer, rank * f + k, reduce=False))
        case Kind.ALL_TO_ALL:
            return Moves.of(step, rank, peer, (rank * n + peer) * f + k, reduce=False)
        case Kind.BROADCAST:
            return Moves.of(step[:, 0], root, far, k, reduce=False)
        case Kind.REDUCE:
            return Moves.of(step[:, 0], far, root, k, reduce=True)
        case Kind.GATHER:
            return Moves.of(step[:, 0], far, root, far * f + k, reduce=False)
        case _:
            return Moves.of(step[:, 0], root, far, far * f + k, reduce=False)
