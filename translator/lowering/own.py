"""What ranks send of their own contributions, and where that lies: in the input, or in a copy of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, Schedule
from hocket.translator.lowering.placement import BEFORE, LocalCopy, Placement

__all__ = ["OwnParts"]

_INPUT, _SCRATCH = (BUFFERS.index(name) for name in "is")


@dataclass(frozen=True, eq=False)
class OwnParts:
    """Transfers of a schedule that read a place of their own (`transfers`, int64): `offset` (int64) of `buffer`, a
    position in BUFFERS, which nothing is added to; and the local `copies` that fill it."""

    transfers: NDArray[np.int64]
    buffer: int
    offset: NDArray[np.int64]
    copies: tuple[LocalCopy, ...]

    @classmethod
    def of(cls, schedule: Schedule, placement: Placement, *, one_sided: bool = False) -> "OwnParts":
        """Out of place the input has all contributions. In place, where sums grow in the input, those chunks of a rank
        are copied to scratch of which something comes in before they have left; unless messages wait for no room
        (`one_sided`), also those that leave meanwhile, which would wait for each other."""
        marked = np.flatnonzero(schedule.is_own)
        if not schedule.collective.kind.reduces:  # what a rank sends of its own is what it holds
            marked = marked[:0]
        if not placement.in_place:
            return cls(marked, _INPUT, schedule.chunk[marked].astype(np.int64), ())
        chunks = schedule.collective.num_chunks
        leaving, entering = (rank.astype(np.int64) * chunks + schedule.chunk for rank in (schedule.src, schedule.dst))
        first = np.full(schedule.collective.num_ranks * chunks, np.iinfo(np.int64).max)
        np.minimum.at(first, entering, schedule.finish_ps if one_sided else schedule.start_ps)
        left = schedule.start_ps + 1 if one_sided else schedule.finish_ps
        copied = np.unique(leaving[marked][first[leaving[marked]] < left[marked]])
        rank, chunk = np.divmod(copied, chunks)
        place = np.arange(len(copied)) - np.searchsorted(rank, rank)
        moved = marked[np.isin(leaving[marked], copied)]
        offset = place[np.searchsorted(copied, leaving[moved])]
        return cls(moved, _SCRATCH, offset, tuple(_copies(rank, chunk, place)))


def _copies(rank: NDArray[np.int64], chunk: NDArray[np.int64], place: NDArray[np.int64]) -> list[LocalCopy]:
    """From input to scratch, neighbouring chunks of a rank at once."""
    heads = np.flatnonzero((np.diff(rank, prepend=-1) != 0) | (np.diff(chunk, prepend=-2) != 1))
    counts = np.diff(np.append(heads, len(rank)))
    columns = (rank[heads], chunk[heads], place[heads], counts)
    return [
        LocalCopy(at, _INPUT, source, _SCRATCH, target, count, BEFORE)
        for at, source, target, count in zip(*(column.tolist() for column in columns), strict=True)
    ]
