"""Everybody talks to everybody: the fewest hops, and n-1 peers for each rank.

Step s is the exchange with the peer s+1 ranks ahead, each coordinate around its own dimension, so the steps are
permutations; within a phase they do not depend on each other. all_reduce has two phases: a reduce_scatter, then an
all_gather. With a root its peers follow in rank order.
"""

from collections.abc import Sequence

import numpy as np

from hocket.base.enums import assert_never, not_here
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.owners import by_owners
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "direct", "over_line"]


def direct(collective: Collective, place: Place) -> Moves:
    return by_owners(collective) if collective.cut_whole else _over_box(collective, place.box())


def over_line(collective: Collective) -> Moves:
    return _over_box(collective, (collective.num_ranks,))


def _over_box(collective: Collective, sizes: Sequence[int]) -> Moves:
    """The peer of rank 0 in step s is rank s+1; those of other ranks are as far along each side of a box of `sizes`."""
    n, f, root = collective.num_ranks, collective.chunks_per_rank, collective.root
    step, k = np.arange(n - 1)[:, None], np.arange(f)
    peer = step + 1  # of rank 0: the other ranks are its images
    far = (root + peer) % n  # of the root
    every = Symmetry.shifts(*sizes)
    scatter = Moves.of(step, 0, peer, peer * f + k, reduce=True, symmetry=every)
    match collective.kind:
        case Kind.ALL_GATHER:
            return Moves.of(step, 0, peer, k, reduce=False, symmetry=every)
        case Kind.REDUCE_SCATTER:
            return scatter
        case Kind.ALL_REDUCE:
            return scatter.then(Moves.of(step, 0, peer, k, reduce=False, symmetry=every))
        case Kind.ALL_TO_ALL:
            return Moves.of(step, 0, peer, peer * f + k, reduce=False, symmetry=every)
        case Kind.BROADCAST:
            return Moves.of(step, root, far, k, reduce=False)
        case Kind.REDUCE:
            return Moves.of(step, far, root, k, reduce=True)
        case Kind.GATHER:
            return Moves.of(step, far, root, far * f + k, reduce=False)
        case Kind.SCATTER:
            return Moves.of(step, root, far, far * f + k, reduce=False)
        case Kind.CUSTOM:
            not_here(collective.kind)
        case _:
            assert_never(collective.kind)


NATIVE = (
    NativeAlgorithm(
        name="direct",
        summary="everybody talks to everybody, the fewest hops",
        forms=(
            Form((Kind.ALL_REDUCE,), "2(n-1)", "2S(n-1)/n"),
            Form((Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL), "n-1", "S(n-1)/n"),
            Form((Kind.BROADCAST, Kind.REDUCE), "n-1", "root: S(n-1)", "reduce: as received by the root"),
            Form((Kind.GATHER, Kind.SCATTER), "n-1", "root: S(n-1)/n", "gather: as received by the root"),
        ),
        moves=direct,
        cuts_whole=True,
    ),
)
