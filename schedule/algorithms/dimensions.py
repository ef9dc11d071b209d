"""Reduce-scatter and all-gather over a box of ranks, one dimension after the other."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective, Kind

__all__ = ["LineMoves", "along_lines", "by_dimension", "phases"]

_Ranks = NDArray[np.int64]

# The moves of reduce_scatter or all_gather among the ranks of one line, with one chunk per rank.
LineMoves = Callable[[Collective], Moves]


def by_dimension(kind: Kind, sizes: Sequence[int], order: Sequence[int], line_moves: Sequence[LineMoves]) -> Moves:
    """reduce_scatter along the dimensions in `order`, all_gather along them backwards, or all_reduce: both. With one
    chunk per rank, of the box with `sizes`; dimension d does as `line_moves[d]` along all of its lines at once."""
    moves = Moves.together()
    for half, position in phases(kind, len(order)):
        moves = moves.then(along_lines(half, line_moves, sizes, order, position))
    return moves


def phases(kind: Kind, dimensions: int) -> list[tuple[Kind, int]]:
    """What a chunk goes through: reduce_scatter or all_gather, and the position of its dimension in the order."""
    scatter = [(Kind.REDUCE_SCATTER, position) for position in range(dimensions)]
    gather = [(Kind.ALL_GATHER, position) for position in reversed(range(dimensions))]
    return {Kind.REDUCE_SCATTER: scatter, Kind.ALL_GATHER: gather}.get(kind, scatter + gather)


def along_lines(
    half: Kind, line_moves: Sequence[LineMoves], sizes: Sequence[int], order: Sequence[int], position: int
) -> Moves:
    """One half along all lines of dimension order[position], for all chunks that are there: their coordinates in the
    dimensions before it in `order` are their holder's, those in the dimensions after it are any.

    At each step the chunks come in the order in which the dimensions after it send (or have received) them.
    """
    ones = [line_moves[d](Collective(half, sizes[d], size_bytes=0)) for d in order[position:]]
    stride = int(np.prod(sizes[: order[position]]))
    before, after = _offsets(sizes, order[:position]), _offsets(sizes, order[position + 1 :])
    turns = [_turns(half, one, sizes[d]) for one, d in zip(ones[1:], order[position + 1 :], strict=True)]
    line = before[:, None, None] + after[:, None]
    step, src, dst, chunk = (
        column[:, None, None, None] for column in (ones[0].step, ones[0].src, ones[0].dst, ones[0].chunk)
    )
    return Moves.of(
        step,
        src * stride + line,
        dst * stride + line,
        chunk * stride + before[:, None, None] + _chunks(sizes, order[position + 1 :], turns),
        reduce=half is Kind.REDUCE_SCATTER,
    )


def _turns(half: Kind, one: Moves, size: int) -> _Ranks:
    """Distances ahead of a rank of a line, of the ranks whose chunks it sends first (or has received first)."""
    if half is Kind.REDUCE_SCATTER:
        first = one.chunk[one.src == 0][np.argsort(one.step[one.src == 0], kind="stable")]
        return np.append(first, 0)
    first = one.chunk[one.dst == 0][np.argsort(one.step[one.dst == 0], kind="stable")]
    return np.append(0, first)


def _chunks(sizes: Sequence[int], dimensions: Sequence[int], turns: Sequence[_Ranks]) -> _Ranks:
    """For each rank of the box spanned by some of the dimensions the box's ranks, in their turns: [rank, turn]."""
    chunks = np.zeros((1, 1), np.int64)
    for d, turn in zip(dimensions, turns, strict=True):
        along = (np.arange(sizes[d])[:, None] + turn) % sizes[d] * int(np.prod(sizes[:d]))
        chunks = (chunks[:, None, :, None] + along[:, None]).reshape(len(chunks) * sizes[d], -1)
    return chunks


def _offsets(sizes: Sequence[int], dimensions: Iterable[int]) -> _Ranks:
    """Rank numbers of the box spanned by some of the dimensions."""
    offsets = np.zeros(1, np.int64)
    for d in dimensions:
        offsets = (offsets[:, None] + np.arange(sizes[d]) * int(np.prod(sizes[:d]))).ravel()
    return offsets
