"""Swing: halving and doubling between partners that swing from side to side, for rings and tori with even sides.

Rank r's partner of step s is r + (-1)^r (1 - (-2)^(s+1))/3: nearer than 2^s on a ring. On a torus the steps go through
the dimensions in turn. Chunk k of a rank starts with dimension k mod d, and the chunks of every other such round go the
other way around: 2d chunks per rank keep all links of a d-dimensional torus busy. all_reduce: 2 sum(ceil(log2 n_d))
steps, 2S(n-1)/n leaves each rank; reduce_scatter and all_gather: one half of that each (the paper's bandwidth-optimal
variant).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.exchange import exchange
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "partner", "swing"]


def swing(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of the topology whose sides are even."""
    f, sizes = collective.chunks_per_rank, _sizes(place)
    parts = []
    for variant in range(min(f, 2 * len(sizes))):
        partners = _partners(sizes, first=variant % len(sizes), mirrored=variant >= len(sizes))
        moves = exchange(collective.kind, Symmetry.swings(*sizes), partners)
        parts.append(moves.in_pieces(f, np.arange(variant, f, 2 * len(sizes))))
    return Moves.together(*parts)


def _sizes(place: Place) -> list[int]:
    sizes = [line.size for line in place.lines("swing")]
    for size in sizes:
        if size % 2:
            raise ScheduleError(f"swing needs an even number of ranks in each dimension, got {size}; use torus_ring")
    return sizes


def partner(n: int, step: int) -> NDArray[np.int64]:
    """Each rank's partner on a ring of n ranks, an even number."""
    rank = np.arange(n)
    distance = (1 - (-2) ** (step + 1)) // 3
    ranks: NDArray[np.int64] = (rank + np.where(rank % 2 == 0, distance, -distance)) % n
    return ranks


def _partners(sizes: Sequence[int], first: int, *, mirrored: bool) -> list[int]:
    """Per step the partner of rank 0 of the box; `mirrored`: with every ring walked the other way around."""
    strides, partners = np.cumprod([1, *sizes]).tolist(), []
    for turn in range((max(sizes, default=1) - 1).bit_length()):
        for d in np.roll(range(len(sizes)), -first).tolist():
            if turn < (sizes[d] - 1).bit_length():
                to = int(partner(sizes[d], turn)[0])
                partners.append((-to % sizes[d] if mirrored else to) * strides[d])
    return partners


NATIVE = (
    NativeAlgorithm(
        name="swing",
        summary="as halving_doubling, with nearer partners that swing from side to side; 2d variants",
        source="De Sensi et al., Swing: Short-cutting rings for higher bandwidth allreduce, NSDI 2024",
        needs="even dimensions",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 sum(ceil(log n_d))", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "sum(ceil(log n_d))", "S(n-1)/n"),
        ),
        moves=swing,
        require=_sizes,
    ),
)
