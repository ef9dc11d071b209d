"""One shot: every rank sends all that it has to every other, and all add. The least latency, and the most bytes.

`one_shot` does so among all ranks, in a single step: each sends its own contribution, whatever it has added to it by
then. With dimensions (or machines) `one_shot_by_dimension` does it in one dimension after the other, so that only the
sums of a machine leave it, over the rail of each rank; `hierarchical_one_shot` in the last dimension alone, between a
reduce_scatter and an all_gather in the others. The sums are exchanged by all ranks in one order of chunks: none gets
another sum of a chunk before it has sent its own, unless that many peers keep a link busy longer than its latency.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.dimensions import along_lines
from hocket.schedule.algorithms.direct import over_line
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, unalike
from hocket.schedule.algorithms.owners import by_owners
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE"]

# About a second of work, and tens of MB: with more ranks or chunks other algorithms are better.
_MAX_TRANSFERS = 1 << 20


def one_shot(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError for too many transfers, as do those below."""
    n, chunks = collective.num_ranks, collective.num_chunks
    _require_few("one_shot", n * (n - 1) * chunks)
    return Moves.of(
        0, 0, np.arange(1, n)[:, None], np.arange(chunks), reduce=True, own=True, symmetry=_all_chunks(place.box())
    )


def one_shot_by_dimension(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of the topology with two dimensions or more."""
    sizes = [line.size for line in place.two_lines("one_shot_by_dimension")]
    _require_few("one_shot_by_dimension", prod(sizes) * sum(size - 1 for size in sizes) * collective.num_chunks)
    chunk, alike = np.arange(collective.num_chunks), _all_chunks(sizes)
    parts = [
        Moves.of(dimension, 0, _peers(sizes, dimension), chunk, reduce=True, own=dimension == 0, symmetry=alike)
        for dimension in range(len(sizes))
    ]
    return Moves.together(*parts)


def hierarchical_one_shot(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of the topology with two dimensions or more."""
    sizes = [line.size for line in place.two_lines("hierarchical_one_shot")]
    if collective.cut_whole:
        pairs = sizes[-1] * (sizes[-1] - 1) + 2 * (prod(sizes) - sizes[-1])
        _require_few("hierarchical_one_shot", pairs * collective.num_chunks)
        return by_owners(collective, sizes[-1])
    _require_few("hierarchical_one_shot", prod(sizes) * sizes[-1] * (sizes[-1] - 1) * collective.chunks_per_rank)
    *inner, last = dimensions = range(len(sizes))
    scatter, gather = (
        [along_lines(half, [over_line] * len(sizes), sizes, dimensions, at).one_by_one() for at in inner]
        for half in (Kind.REDUCE_SCATTER, Kind.ALL_GATHER)
    )
    # Spelled out: in images of what one rank does two ranks would send their chunks in orders of their own.
    line = np.arange(collective.num_ranks).reshape(sizes[last], -1).T  # ranks of one, and the chunks that they have
    src, dst, chunk = np.broadcast_arrays(line[:, :, None, None], line[:, None, :, None], line[:, None, None, :])
    others = src != dst
    shot = Moves.of(0, src[others], dst[others], chunk[others], reduce=True)
    whole = reduce(Moves.then, [*scatter, shot, *reversed(gather)])
    return whole.in_pieces(collective.chunks_per_rank, np.arange(collective.chunks_per_rank))


def _require_few(name: str, transfers: int) -> None:
    """Raises ScheduleError for too many of them."""
    if transfers > _MAX_TRANSFERS:
        raise ScheduleError(
            f"{name} needs few ranks and chunks: everybody would send everybody all of them, {transfers} transfers "
            f"(limit {_MAX_TRANSFERS}); use hierarchical or direct"
        )


def _peers(sizes: Sequence[int], dimension: int) -> NDArray[np.int64]:
    """The other ranks of the line through rank 0, a column."""
    return prod(sizes[:dimension]) * np.arange(1, sizes[dimension])[:, None]


def _all_chunks(sizes: Sequence[int]) -> Symmetry:
    """All ranks send all chunks, in one order: none gets the next sum of a chunk before it has sent its own."""
    return replace(Symmetry.shifts(*sizes), fixes_chunks=True)


NATIVE = (
    NativeAlgorithm(
        name="one_shot",
        summary="everybody sends everybody all that it has, and adds what arrives: one latency",
        source="MSCCL++'s all-pairs all_reduce; one-shot of TensorRT-LLM, vLLM and NVSHMEM",
        forms=(Form((Kind.ALL_REDUCE,), "1", "S(n-1)"),),
        moves=one_shot,
        cuts_whole=True,
        require=None,
    ),
    NativeAlgorithm(
        name="one_shot_by_dimension",
        summary="one_shot in one dimension after the other: sums of a machine go over the rails",
        needs="two dimensions or more, or machines",
        forms=(Form((Kind.ALL_REDUCE,), "d", "S sum(n_d - 1)"),),
        moves=one_shot_by_dimension,
        cuts_whole=True,
        require=None,
    ),
    NativeAlgorithm(
        name="hierarchical_one_shot",
        summary="as hierarchical, everybody to everybody, and one_shot in the last dimension, of m ranks",
        needs="two dimensions or more, or machines",
        forms=(Form((Kind.ALL_REDUCE,), "2 sum(n_d - 1) - 2(m-1) + 1", "2S(n/m-1)m/n + S(m-1)m/n"),),
        moves=hierarchical_one_shot,
        cuts_whole=True,
        alike=unalike,
        require=None,
    ),
)
