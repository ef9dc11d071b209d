"""A schedule as sends, receives and local copies, each in a thread block: what the engine orders."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, Schedule, StepType
from hocket.translator.placement import LocalCopy, Placement
from hocket.translator.profiles import Profile

__all__ = ["Block", "Messages", "Operations", "merge", "operations"]

_TYPES = list(StepType)
_SPAN = 1 << 40  # locations from one buffer to the next: more than any buffer has chunks


@dataclass(frozen=True, eq=False)
class Messages:
    """Transfers of consecutive chunks over one route at one time, as one message each (U, in order of their start).

    int64 columns: `src`, `dst` rank, `start`, `finish`, `count` chunks, and where the first chunk lies at the source
    (`src_buffer`, `src_offset`) and the destination; `reduce` bool.
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    start: NDArray[np.int64]
    finish: NDArray[np.int64]
    reduce: NDArray[np.bool_]
    count: NDArray[np.int64]
    src_buffer: NDArray[np.int64]
    src_offset: NDArray[np.int64]
    dst_buffer: NDArray[np.int64]
    dst_offset: NDArray[np.int64]


def merge(schedule: Schedule, placement: Placement, max_count: int) -> Messages:
    """The schedule's messages, of at most `max_count` chunks each.

    What a rank sends while it gets the same chunk from another goes by itself: as a connection may hold a single chunk,
    two ranks that exchange several chunks at once would each wait for the other to receive.
    """
    src, dst = schedule.src.astype(np.int64), schedule.dst.astype(np.int64)
    src_buffer, src_offset = placement.home(schedule.src, schedule.chunk)
    dst_buffer, dst_offset = placement.home(schedule.dst, schedule.chunk)
    alike = (schedule.reduce, src_buffer, dst_buffer, dst, src, schedule.finish_ps, schedule.start_ps)
    order = np.lexsort((src_offset, *alike))
    follows = np.ones(max(len(order) - 1, 0), bool)
    for column in alike:
        follows &= np.diff(column[order].astype(np.int64)) == 0
    for offset in (src_offset, dst_offset):
        follows &= np.diff(offset[order]) == 1
    alone = _exchanged(schedule)[order]
    follows &= ~alone[1:] & ~alone[:-1]
    position = np.arange(len(order))
    run_start = np.maximum.accumulate(np.where(np.concatenate([[True], ~follows])[: len(order)], position, 0))
    heads = np.flatnonzero((position - run_start) % max_count == 0)
    first = order[heads]
    count = np.diff(np.append(heads, len(order)))
    by_time = np.lexsort((first, schedule.start_ps[first]))
    first, count = first[by_time], count[by_time]
    return Messages(
        src=src[first],
        dst=dst[first],
        start=schedule.start_ps[first],
        finish=schedule.finish_ps[first],
        reduce=schedule.reduce[first],
        count=count,
        src_buffer=src_buffer[first],
        src_offset=src_offset[first],
        dst_buffer=dst_buffer[first],
        dst_offset=dst_offset[first],
    )


def _exchanged(schedule: Schedule) -> NDArray[np.bool_]:
    """Per transfer whether, while it is under way, its source gets its chunk or its destination sends it."""
    moments, moment = np.unique(np.concatenate([schedule.start_ps, schedule.finish_ps]), return_inverse=True)
    start, finish = moment.reshape(2, -1)
    place = schedule.chunk.astype(np.int64) * schedule.collective.num_ranks
    leaving, entering = ((place + rank) * len(moments) for rank in (schedule.src, schedule.dst))

    def meets(own: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
        begun = np.searchsorted(np.sort(other + start), own + finish)
        over = np.searchsorted(np.sort(other + finish), own + start, side="right")
        return begun > over

    return meets(leaving, entering) | meets(entering, leaving)


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """A thread block of a lowered program; the blocks of a rank are numbered in this order."""

    rank: int
    send: int
    receive: int
    channel: int


@dataclass(frozen=True, eq=False)
class Operations:
    """Local copies, sends and receives (P), in the order of time: what the engine puts into one global order.

    int64 columns: `block` (position in `blocks`), `rank`, `type` (position in StepType), the operands `count`,
    `src_buffer`, `src_offset`, `dst_buffer`, `dst_offset` of the step, `message` (a receive: its send; else -1),
    `after` (a send: the receive of the message before it on its connection; else -1), and `priority`.
    """

    blocks: list[Block]
    block: NDArray[np.int64]
    rank: NDArray[np.int64]
    type: NDArray[np.int64]
    count: NDArray[np.int64]
    src_buffer: NDArray[np.int64]
    src_offset: NDArray[np.int64]
    dst_buffer: NDArray[np.int64]
    dst_offset: NDArray[np.int64]
    message: NDArray[np.int64]
    after: NDArray[np.int64]
    priority: NDArray[np.int64]

    @property
    def reads(self) -> NDArray[np.int64]:
        """Location of the first chunk each operation reads, -1: none; locations of different ranks are different."""
        return self._locations(self.src_buffer, self.src_offset, [kind.reads for kind in StepType])

    @property
    def writes(self) -> NDArray[np.int64]:
        """Location of the first chunk each operation writes, -1: none."""
        return self._locations(self.dst_buffer, self.dst_offset, [kind.writes for kind in StepType])

    def _locations(self, buffer: NDArray[np.int64], offset: NDArray[np.int64], used: list[bool]) -> NDArray[np.int64]:
        return np.where(np.array(used)[self.type], (self.rank * len(BUFFERS) + buffer) * _SPAN + offset, -1)


def operations(messages: Messages, placement: Placement, profile: Profile, instances: int) -> Operations:
    """The messages' sends and receives and the local copies around them; each pair of ranks talks over `instances`
    connections in turn, each with a thread block at both ends."""
    before = _copies(placement.copies_before(), profile.max_count)
    after = _copies(placement.copies_after(), profile.max_count)
    connection, pairs = _connections(messages, instances)
    channels = _channels(pairs, profile.max_blocks_per_channel)
    ends = [(int(src), int(dst), channel) for (src, dst), channel in zip(pairs.tolist(), channels, strict=True)]
    sending = [Block(src, dst, -1, channel) for src, dst, channel in ends]
    receiving = [Block(dst, -1, src, channel) for src, dst, channel in ends]
    copying = [Block(rank, -1, -1, 0) for rank in sorted({copy.rank for copy in [*before, *after]})]
    blocks = sorted([*sending, *receiving, *copying])
    number = {block: position for position, block in enumerate(blocks)}

    size = len(messages.src)
    halves = np.concatenate([np.ones(size, int), np.zeros(size, int)])
    unit = np.tile(np.arange(size), 2)
    # what arrives at an instant is there for what leaves at that instant
    order = np.lexsort((unit, halves, np.concatenate([messages.start, messages.finish])))
    place = np.empty(2 * size, np.int64)
    place[order] = len(before) + np.arange(2 * size)
    send_at, receive_at = place[:size], place[size:]
    none = np.full(size, -1)
    previous = _previous(connection)

    def column(
        sends: NDArray[np.int64], receives: NDArray[np.int64], copies: Callable[[LocalCopy], int]
    ) -> NDArray[np.int64]:
        own = np.concatenate([sends, receives])[order]
        return np.concatenate([[copies(c) for c in before], own, [copies(c) for c in after]]).astype(np.int64)

    into = np.where(messages.reduce, _TYPES.index(StepType.RECEIVE_REDUCE_COPY), _TYPES.index(StepType.RECEIVE))
    local_src_buffer = np.where(messages.reduce, messages.dst_buffer, messages.src_buffer)
    local_src_offset = np.where(messages.reduce, messages.dst_offset, messages.src_offset)
    priority = 2 * np.arange(size)
    copies = [-1] * len(before), [2 * size] * len(after)
    return Operations(
        blocks=blocks,
        block=column(
            np.array([number[block] for block in sending], np.int64)[connection],
            np.array([number[block] for block in receiving], np.int64)[connection],
            lambda copy: number[Block(copy.rank, -1, -1, 0)],
        ),
        rank=column(messages.src, messages.dst, attrgetter("rank")),
        type=column(np.full(size, _TYPES.index(StepType.SEND)), into, lambda _: _TYPES.index(StepType.COPY)),
        count=column(messages.count, messages.count, attrgetter("count")),
        src_buffer=column(messages.src_buffer, local_src_buffer, attrgetter("source")),
        src_offset=column(messages.src_offset, local_src_offset, attrgetter("source_offset")),
        dst_buffer=column(messages.dst_buffer, messages.dst_buffer, attrgetter("destination")),
        dst_offset=column(messages.dst_offset, messages.dst_offset, attrgetter("destination_offset")),
        message=column(none, send_at, lambda _: -1),
        after=column(np.where(previous < 0, -1, receive_at[previous]), none, lambda _: -1),
        priority=np.concatenate([copies[0], np.concatenate([priority, priority + 1])[order], copies[1]]).astype(
            np.int64
        ),
    )


def _copies(copies: list[LocalCopy], max_count: int) -> list[LocalCopy]:
    """The copies cut into steps of at most `max_count` chunks."""
    return [
        replace(
            copy,
            source_offset=copy.source_offset + first,
            destination_offset=copy.destination_offset + first,
            count=min(max_count, copy.count - first),
        )
        for copy in copies
        for first in range(0, copy.count, max_count)
    ]


def _connections(messages: Messages, instances: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The connection of each message, and source and destination (rows) of each connection: a pair's messages take
    turns on its `instances` connections."""
    pairs, pair = np.unique(np.stack([messages.src, messages.dst], axis=1), axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    by_pair = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[by_pair], np.arange(len(pairs)))
    turn = np.empty(len(pair), np.int64)
    turn[by_pair] = np.arange(len(pair)) - first[pair[by_pair]]
    used, connection = np.unique(pair * instances + turn % instances, return_inverse=True)
    return connection.reshape(-1), pairs[used // instances]


def _previous(connection: NDArray[np.int64]) -> NDArray[np.int64]:
    """The message before each on its connection, -1: none."""
    by_connection = np.argsort(connection, kind="stable")
    previous = np.full(len(connection), -1)
    same = np.diff(connection[by_connection]) == 0
    previous[by_connection[1:][same]] = by_connection[:-1][same]
    return previous


def _channels(pairs: NDArray[np.int64], most: int) -> list[int]:
    """A channel for each connection: the first that its pair does not use yet and that `most` others of its sender or
    of its receiver do not fill."""
    sending: Counter[tuple[int, int]] = Counter()
    receiving: Counter[tuple[int, int]] = Counter()
    used: set[tuple[int, int, int]] = set()
    channels = []
    for src, dst in pairs.tolist():
        channel = next(
            channel
            for channel in count()
            if sending[src, channel] < most and receiving[dst, channel] < most and (src, dst, channel) not in used
        )
        sending[src, channel] += 1
        receiving[dst, channel] += 1
        used.add((src, dst, channel))
        channels.append(channel)
    return channels
