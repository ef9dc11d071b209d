"""Messages as sends and receives, and local steps, each in a thread block: what the engine orders."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, StepType
from hocket.translator.messages import Messages
from hocket.translator.pairing import pair_connections
from hocket.translator.placement import LocalStep
from hocket.translator.profiles import Profile

__all__ = ["Block", "Operations", "operations"]

_TYPES = list(StepType)
_SPAN = 1 << 40  # locations from one buffer to the next: more than any buffer has chunks


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """A thread block of a lowered program; the blocks of a rank are numbered in this order."""

    rank: int
    send: int
    receive: int
    channel: int


@dataclass(frozen=True, eq=False)
class Operations:
    """Local steps, sends and receives (P), in the order of time: what the engine puts into one global order.

    int64 columns: `block` (position in `blocks`), `rank`, `type` (position in StepType), the operands `count`,
    `src_buffer`, `src_offset`, `dst_buffer`, `dst_offset` of the step, `message` (a receive: its send; else -1),
    `after` (a send: the receive that makes room for it on its connection; else -1), and `priority`.
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


def operations(
    messages: Messages, local: Sequence[LocalStep], profile: Profile, channels: int, slots: int, *, paired: bool = False
) -> Operations:
    """The messages' sends and receives and the local steps between them.

    Each pair of ranks talks over `channels` connections in turn, each with a thread block at both ends. Where
    connections are relied on to hold several messages (`slots`), one into a rank and one out of it may share theirs;
    `paired`: all do, as far as they go round.
    """
    connection, pairs = _connections(messages, channels)
    channel_of = _channels(pairs, profile.max_blocks_per_channel)
    ends = [(int(src), int(dst), channel) for (src, dst), channel in zip(pairs.tolist(), channel_of, strict=True)]
    sending = [Block(src, dst, -1, channel) for src, dst, channel in ends]
    receiving = [Block(dst, -1, src, channel) for src, dst, channel in ends]
    if slots > 1 or paired:
        partners = pair_connections(messages, connection, np.array(channel_of, np.int64), every=paired)
        for leaving, entering in partners.items():
            shared = replace(sending[leaving], receive=receiving[entering].receive)
            sending[leaving] = receiving[entering] = shared
    blocks = sorted({*sending, *receiving, *(Block(step.rank, -1, -1, 0) for step in local)})
    number = {block: position for position, block in enumerate(blocks)}

    size = len(messages.src)
    halves = np.repeat([1, 0, 0], [size, size, len(local)])
    unit = np.concatenate([np.arange(size), np.arange(size), np.arange(len(local))])
    at = np.array([step.at for step in local], np.int64)
    # what arrives at an instant is there for what leaves at that instant
    order = np.lexsort((unit, halves, np.concatenate([messages.start, messages.finish, at])))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    send_at, receive_at = place[:size], place[size : 2 * size]
    none = np.full(size, -1)
    previous = _previous(connection, slots)

    def column(
        sends: NDArray[np.int64], receives: NDArray[np.int64], of: Callable[[LocalStep], int]
    ) -> NDArray[np.int64]:
        return np.concatenate([sends, receives, np.array([of(step) for step in local], np.int64)])[order]

    into = np.where(messages.reduce, _TYPES.index(StepType.RECEIVE_REDUCE_COPY), _TYPES.index(StepType.RECEIVE))
    local_src_buffer = np.where(messages.reduce, messages.dst_buffer, messages.src_buffer)
    local_src_offset = np.where(messages.reduce, messages.dst_offset, messages.src_offset)
    # Where a connection holds one message, its receive comes right after; else what comes in first comes first.
    turn = 2 * np.arange(size)
    local_turn = 2 * np.searchsorted(messages.start, at) - 1
    return Operations(
        blocks=blocks,
        block=column(
            np.array([number[block] for block in sending], np.int64)[connection],
            np.array([number[block] for block in receiving], np.int64)[connection],
            lambda step: number[Block(step.rank, -1, -1, 0)],
        ),
        rank=column(messages.src, messages.dst, attrgetter("rank")),
        type=column(
            np.full(size, _TYPES.index(StepType.SEND)),
            into,
            lambda step: _TYPES.index(StepType.REDUCE if step.reduce else StepType.COPY),
        ),
        count=column(messages.count, messages.count, attrgetter("count")),
        src_buffer=column(messages.src_buffer, local_src_buffer, attrgetter("source")),
        src_offset=column(messages.src_offset, local_src_offset, attrgetter("source_offset")),
        dst_buffer=column(messages.dst_buffer, messages.dst_buffer, attrgetter("destination")),
        dst_offset=column(messages.dst_offset, messages.dst_offset, attrgetter("destination_offset")),
        message=column(none, send_at, lambda _: -1),
        after=column(np.where(previous < 0, -1, receive_at[previous]), none, lambda _: -1),
        priority=np.concatenate([turn, turn + 1, local_turn])[order] if slots == 1 else np.arange(len(order)),
    )


def _connections(messages: Messages, channels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The connection of each message, and source and destination (rows) of each connection: a pair's messages of one
    channel take turns on `channels` connections."""
    ends = np.stack([messages.src, messages.dst, messages.channel], axis=1)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    by_pair = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[by_pair], np.arange(len(pairs)))
    turn = np.empty(len(pair), np.int64)
    turn[by_pair] = np.arange(len(pair)) - first[pair[by_pair]]
    used, connection = np.unique(pair * channels + turn % channels, return_inverse=True)
    return connection.reshape(-1), pairs[used // channels, :2]


def _previous(connection: NDArray[np.int64], slots: int) -> NDArray[np.int64]:
    """The message that must have left its connection before each can be on it, -1: none."""
    by_connection = np.argsort(connection, kind="stable")
    previous = np.full(len(connection), -1)
    earlier, later = by_connection[:-slots], by_connection[slots:]
    same = connection[earlier] == connection[later]
    previous[later[same]] = earlier[same]
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
