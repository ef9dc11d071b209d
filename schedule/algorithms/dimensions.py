"""Reduce-scatter and all-gather over a box of ranks, one dimension after the other."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["LineMoves", "along_lines", "by_dimension", "phases"]

# The moves of reduce_scatter or all_gather among the ranks of one line, with one chunk per rank: images under shifts.
LineMoves = Callable[[Collective], Moves]


def by_dimension(kind: Kind, sizes: Sequence[int], order: Sequence[int], line_moves: Sequence[LineMoves]) -> Moves:
    """reduce_scatter along the dimensions in `order`, all_gather along them backwards, or all_reduce: both. With one
    chunk per rank, of the box with `sizes`; dimension d does as `line_moves[d]` along all of its lines at once."""
    parts = [along_lines(half, line_moves, sizes, order, position) for half, position in phases(kind, len(order))]
    return reduce(Moves.then, parts) if parts else Moves.together()


def phases(kind: Kind, dimensions: int) -> list[tuple[Kind, int]]:
    """What a chunk goes through: reduce_scatter or all_gather, and the position of its dimension in the order."""
    scatter = [(Kind.REDUCE_SCATTER, position) for position in range(dimensions)]
    gather = [(Kind.ALL_GATHER, position) for position in reversed(range(dimensions))]
    return {Kind.REDUCE_SCATTER: scatter, Kind.ALL_GATHER: gather, Kind.ALL_REDUCE: scatter + gather}[kind]


def along_lines(
    half: Kind, line_moves: Sequence[LineMoves], sizes: Sequence[int], order: Sequence[int], position: int
) -> Moves:
    """One half along the line of dimension order[position] through rank 0 (the other lines are its images), for all
    chunks that are there: their coordinates in the dimensions before it in `order` are their holder's, those in the
    dimensions after it are any.

    At each step the chunks come in the order in which the dimensions after it send (or have received) them.
    """
    one, *following = [line_moves[d](Collective(half, sizes[d], size_bytes=0)) for d in order[position:]]
    stride = int(np.prod(sizes[: order[position]]))
    after = np.zeros(1, np.int64)
    for d, line in zip(order[position + 1 :], following, strict=True):
        after = (after[:, None] + _turns(half, line) * int(np.prod(sizes[:d]))).ravel()
    step, src, dst, chunk = (column[:, None] for column in (one.step, one.src, one.dst, one.chunk))
    return Moves.of(
        step,
        src * stride,
        dst * stride,
        chunk * stride + after,
        reduce=half is Kind.REDUCE_SCATTER,
        symmetry=Symmetry.shifts(*sizes),
    )


def _turns(half: Kind, one: Moves) -> NDArray[np.int64]:
    """Distances ahead of a rank of a line, of the ranks whose chunks it sends first (or has received first)."""
    scatter = half is Kind.REDUCE_SCATTER
    home = one.symmetry.home(one.src if scatter else one.dst)
    first = one.symmetry.act(home, one.chunk)[np.argsort(one.step, kind="stable")]
    return np.append(first, 0) if scatter else np.append(0, first)
