"""Reduce-scatter and all-gather over a box of ranks, one dimension after the other."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["LineMoves", "by_dimension"]

_Ranks = NDArray[np.int64]

# The moves of reduce_scatter or all_gather among the ranks of one line, with one chunk per rank.
LineMoves = Callable[[Collective], Moves]


def by_dimension(kind: Kind, sizes: Sequence[int], order: Sequence[int], line_moves: Sequence[LineMoves]) -> Moves:
    """reduce_scatter along the dimensions in `order`, all_gather along them backwards, or all_reduce: both. With one
    chunk per rank, of the box with `sizes`; dimension d does as `line_moves[d]` along all of its lines at once."""
    phases = []
    if kind is not Kind.ALL_GATHER:
        phases += [(Kind.REDUCE_SCATTER, position) for position in range(len(order))]
    if kind is not Kind.REDUCE_SCATTER:
        phases += [(Kind.ALL_GATHER, position) for position in reversed(range(len(order)))]
    moves = Moves.together()
    for half, position in phases:
        moves = moves.then(_along_lines(half, line_moves[order[position]], sizes, order, position))
    return moves


def _along_lines(half: Kind, line_moves: LineMoves, sizes: Sequence[int], order: Sequence[int], position: int) -> Moves:
    """One half along all lines of dimension order[position], for all chunks that are there: their coordinates in the
    dimensions before it in `order` are their holder's, those in the dimensions after it are any."""
    one = line_moves(Collective(half, sizes[order[position]], size_bytes=0))
    stride = int(np.prod(sizes[: order[position]]))
    before, after = _offsets(sizes, order[:position]), _offsets(sizes, order[position + 1 :])
    line = before[:, None, None] + after[:, None]
    step, src, dst, chunk = (column[:, None, None, None] for column in (one.step, one.src, one.dst, one.chunk))
    return Moves.of(
        step,
        src * stride + line,
        dst * stride + line,
        chunk * stride + before[:, None, None] + after,
        reduce=half is Kind.REDUCE_SCATTER,
    )


def _offsets(sizes: Sequence[int], dimensions: Iterable[int]) -> _Ranks:
    """Rank numbers of the box spanned by some of the dimensions."""
    offsets = np.zeros(1, np.int64)
    for d in dimensions:
        offsets = (offsets[:, None] + np.arange(sizes[d]) * int(np.prod(sizes[:d]))).ravel()
    return offsets
