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
    """Transfers of a schedule that read elsewhere than where their chunk grows (`transfers`, int64): `buffer`, a
    position in BUFFERS, and `offset` of each (int64), to which nothing is added; and the local `copies` that fill it.
    """

    transfers: NDArray[np.int64]
    buffer: NDArray[np.int64]
    offset: NDArray[np.int64]
    copies: tuple[LocalCopy, ...]

    @classmethod
    def of(cls, schedule: Schedule, placement: Placement, *, one_sided: bool, meanwhile: bool) -> "OwnParts":
        """Out of place they read the input. In place, where sums grow in the input, a copy in scratch of those chunks
        of a rank of which something comes in before all have left, or `meanwhile`: else messages may wait for each
        other.

        So do they where a rank's peers write a sum over what it has (`one_sided`): by sending what it has copied from
        there the rank says that it has begun.
        """
        marked = np.flatnonzero(schedule.is_own)
        if not schedule.collective.kind.reduces:  # what a rank sends of its own is what it holds
            marked = marked[:0]
        chunks = schedule.collective.num_chunks
        leaving, entering = (rank.astype(np.int64) * chunks + schedule.chunk for rank in (schedule.src, schedule.dst))
        growing = np.isin(leaving[marked], entering[~schedule.reduce]) & one_sided | placement.in_place
        direct, marked = marked[~growing], marked[growing]

        first = np.full(schedule.collective.num_ranks * chunks, np.iinfo(np.int64).max)
        np.minimum.at(first, entering, schedule.start_ps if meanwhile else schedule.finish_ps)
        left = schedule.finish_ps if meanwhile else schedule.start_ps + 1
        copied = np.unique(leaving[marked][first[leaving[marked]] < left[marked]])
        rank, chunk = np.divmod(copied, chunks)
        home, _ = placement.home(rank.astype(np.int32), chunk.astype(np.int32))
        place = np.arange(len(copied)) - np.searchsorted(rank, rank) + np.where(home == _SCRATCH, chunks, 0)
        moved = marked[np.isin(leaving[marked], copied)]
        return cls(
            np.concatenate([direct, moved]),
            np.repeat([_INPUT, _SCRATCH], [len(direct), len(moved)]),
            np.concatenate([schedule.chunk[direct], place[np.searchsorted(copied, leaving[moved])]]),
            tuple(_copies(rank, home, chunk, place)),
        )


def _copies(
    rank: NDArray[np.int64], home: NDArray[np.int64], chunk: NDArray[np.int64], place: NDArray[np.int64]
) -> list[LocalCopy]:
    """From where ranks have chunks to places in scratch, neighbours at once."""
    heads = np.flatnonzero((np.diff(rank, prepend=-1) != 0) | (np.diff(chunk, prepend=-2) != 1))
    counts = np.diff(np.append(heads, len(rank)))
    columns = (rank[heads], home[heads], chunk[heads], place[heads], counts)
    return [
        LocalCopy(at, buffer, source, _SCRATCH, target, count, BEFORE)
        for at, buffer, source, target, count in zip(*(column.tolist() for column in columns), strict=True)
    ]
