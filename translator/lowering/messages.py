"""A schedule's transfers as messages: what leaves together goes together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Schedule
from hocket.translator.lowering.own import OwnParts
from hocket.translator.lowering.placement import Placement

__all__ = ["Messages", "merge"]


@dataclass(frozen=True, eq=False)
class Messages:
    """Transfers of consecutive chunks over one route at one time, as one message each (U, in order of their start).

    int64 columns: `src`, `dst` rank, `channel` (messages of different ones go over different connections), `start`,
    `finish`, `count` chunks, and where the first chunk lies at the source (`src_buffer`, `src_offset`) and the
    destination; `reduce` bool.
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    channel: NDArray[np.int64]
    start: NDArray[np.int64]
    finish: NDArray[np.int64]
    reduce: NDArray[np.bool_]
    count: NDArray[np.int64]
    src_buffer: NDArray[np.int64]
    src_offset: NDArray[np.int64]
    dst_buffer: NDArray[np.int64]
    dst_offset: NDArray[np.int64]


def merge(schedule: Schedule, placement: Placement, own: OwnParts, *, one_sided: bool = False) -> Messages:
    """The schedule's messages; `own`: those that read a place of their own.

    What a rank sends while it gets the same chunk from another goes by itself: as a connection may hold a single chunk,
    two ranks that exchange several chunks at once would each wait for the other to receive. Not so where a message
    waits for no room (`one_sided`).
    """
    src, dst = schedule.src.astype(np.int64), schedule.dst.astype(np.int64)
    src_buffer, src_offset = placement.home(schedule.src, schedule.chunk)
    dst_buffer, dst_offset = placement.home(schedule.dst, schedule.chunk)
    src_buffer[own.transfers], src_offset[own.transfers] = own.buffer, own.offset
    alike = (schedule.reduce, src_buffer, dst_buffer, dst, src, schedule.finish_ps, schedule.start_ps)
    order = np.lexsort((src_offset, *alike))
    follows = np.ones(max(len(order) - 1, 0), bool)
    for column in alike:
        follows &= np.diff(column[order].astype(np.int64)) == 0
    for offset in (src_offset, dst_offset):
        follows &= np.diff(offset[order]) == 1
    if not one_sided:
        alone = _exchanged(schedule, own)[order]
        follows &= ~alone[1:] & ~alone[:-1]
    heads = np.flatnonzero(np.append(True, ~follows)[: len(order)])
    first = order[heads]
    count = np.diff(np.append(heads, len(order)))
    by_time = np.lexsort((first, schedule.start_ps[first]))
    first, count = first[by_time], count[by_time]
    return Messages(
        src=src[first],
        dst=dst[first],
        channel=np.zeros(len(first), np.int64),
        start=schedule.start_ps[first],
        finish=schedule.finish_ps[first],
        reduce=schedule.reduce[first],
        count=count,
        src_buffer=src_buffer[first],
        src_offset=src_offset[first],
        dst_buffer=dst_buffer[first],
        dst_offset=dst_offset[first],
    )


def _exchanged(schedule: Schedule, own: OwnParts) -> NDArray[np.bool_]:
    """Per transfer whether, while it is under way, its source gets its chunk or its destination sends it, from where it
    is got to."""
    moments, moment = np.unique(np.concatenate([schedule.start_ps, schedule.finish_ps]), return_inverse=True)
    start, finish = moment.reshape(2, -1)
    place = schedule.chunk.astype(np.int64) * schedule.collective.num_ranks
    leaving, entering = ((place + rank) * len(moments) for rank in (schedule.src, schedule.dst))
    leaving[own.transfers] = -len(moments) * (2 + np.arange(len(own.transfers)))  # no chunk of any rank

    def meets(own: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
        begun = np.searchsorted(np.sort(other + start), own + finish)
        over = np.searchsorted(np.sort(other + finish), own + start, side="right")
        return begun > over

    return meets(leaving, entering) | meets(entering, leaving)
