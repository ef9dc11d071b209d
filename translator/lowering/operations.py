"""Messages as sends and receives, and local steps, each in a thread block: what the engine orders."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, StepType
from hocket.translator.lowering.messages import Messages
from hocket.translator.lowering.pairing import pair_connections
from hocket.translator.lowering.placement import LocalCopy
from hocket.translator.msccl.profile import Profile

__all__ = ["Operations", "operations"]

_TYPES = list(StepType)
_SEND, _RECEIVE, _RECEIVE_SUM, _COPY, _REDUCE = map(
    _TYPES.index,
    (StepType.SEND, StepType.RECEIVE, StepType.RECEIVE_REDUCE_COPY, StepType.COPY, StepType.REDUCE),
)
_SPAN = 1 << 40  # locations from one buffer to the next: more than any buffer has chunks


@dataclass(frozen=True, eq=False)
class Operations:
    """Local steps, sends and receives (P), in the order of time: what the engine puts into one global order.

    `blocks`: a row for each thread block (int64): its rank, whom it sends to and receives from (-1: nobody), its
    channel, and which of a rank's without peers it is. Those of a rank are numbered in the order of the rows.

    int64 columns: `block` (position in `blocks`), `rank`, `type` (position in StepType), the operands `count`,
    `src_buffer`, `src_offset`, `dst_buffer`, `dst_offset` of the step, `message` (a receive: its send; else -1),
    `after` (a send: the receive that makes room for it on its connection; else -1), and `priority`.
    """

    blocks: NDArray[np.int64]
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
    messages: Messages,
    local: Sequence[LocalCopy],
    profile: Profile,
    channels: int,
    slots: int,
    *,
    paired: bool,
    most_local: int,
) -> Operations:
    """The messages' sends and receives and the local steps between them.

    Each pair of ranks talks over `channels` connections in turn, each with a thread block at both ends. Where
    connections are relied on to hold several messages (`slots`), one into a rank and one out of it may share theirs;
    `paired`: all do, as far as they go round. Local steps have thread blocks of their own, of at most `most_local`.

    Raises ScheduleError where messages of a connection that holds several overtake each other.
    """
    connection, pairs = _connections(messages, channels)
    if slots > 1:
        _require_order(messages, connection)
    channel = _channels(pairs, profile.max_blocks_per_channel)
    nobody = np.full(len(pairs), -1)
    sending = np.stack([pairs[:, 0], pairs[:, 1], nobody, channel, 0 * channel], axis=1)
    receiving = np.stack([pairs[:, 1], nobody, pairs[:, 0], channel, 0 * channel], axis=1)
    if slots > 1 or paired:
        partners = pair_connections(messages, connection, channel, every=paired)
        leaving, entering = (np.array(list(ends), np.int64) for ends in (partners, partners.values()))
        sending[leaving, 2] = receiving[entering, 2]
        receiving[entering] = sending[leaving]
    staying = _local_blocks(local, most_local)
    blocks, number = np.unique(np.concatenate([sending, receiving, staying]), axis=0, return_inverse=True)
    sending_number, receiving_number, staying_number = np.split(
        number.reshape(-1), [len(sending), len(sending) + len(receiving)]
    )

    names = [field.name for field in fields(LocalCopy)]
    steps = {name: np.array([getattr(step, name) for step in local], np.int64) for name in names}
    time = _Time(messages, steps["at"])
    sends, receives = (np.full(len(connection), value) for value in (_SEND, _RECEIVE))
    none, nowhere = np.full(len(connection), -1), np.full(len(local), -1)
    previous = _previous(connection, slots)
    reads_own = messages.reduce
    return Operations(
        blocks=blocks,
        block=time.column(sending_number[connection], receiving_number[connection], staying_number),
        rank=time.column(messages.src, messages.dst, steps["rank"]),
        type=time.column(
            sends, np.where(reads_own, _RECEIVE_SUM, receives), np.where(steps["reduce"] > 0, _REDUCE, _COPY)
        ),
        count=time.column(messages.count, messages.count, steps["count"]),
        src_buffer=time.column(
            messages.src_buffer, np.where(reads_own, messages.dst_buffer, messages.src_buffer), steps["source"]
        ),
        src_offset=time.column(
            messages.src_offset, np.where(reads_own, messages.dst_offset, messages.src_offset), steps["source_offset"]
        ),
        dst_buffer=time.column(messages.dst_buffer, messages.dst_buffer, steps["destination"]),
        dst_offset=time.column(messages.dst_offset, messages.dst_offset, steps["destination_offset"]),
        message=time.column(none, time.sends, nowhere),
        after=time.column(np.where(previous < 0, -1, time.receives[previous]), none, nowhere),
        priority=time.turns if slots == 1 else np.arange(len(time.turns)),
    )


def _require_order(messages: Messages, connection: NDArray[np.int64]) -> None:
    """A connection hands messages over in the order in which they were sent."""
    order = np.lexsort((messages.start, connection))
    late = (np.diff(connection[order]) == 0) & (np.diff(messages.finish[order]) < 0)
    if late.any():
        message = order[1:][late][0]
        raise ScheduleError(
            f"messages from rank {messages.src[message]} to rank {messages.dst[message]} overtake each other, which no "
            "connection that holds several lets them: use --slots 1"
        )


class _Time:
    """The order of time of sends, receives and local steps (which happen at `at`).

    `sends`, `receives`: the position in it of each message's two ends. `turns`: priorities, in that order, with which a
    message's receive comes right after its send, as where a connection holds one message; else what comes in first
    comes first.
    """

    def __init__(self, messages: Messages, at: NDArray[np.int64]) -> None:
        size = len(messages.src)
        halves = np.repeat([1, 0, 0], [size, size, len(at)])
        unit = np.concatenate([np.arange(size), np.arange(size), np.arange(len(at))])
        # what arrives at an instant is there for what leaves at that instant
        self._order = np.lexsort((unit, halves, np.concatenate([messages.start, messages.finish, at])))
        place = np.empty(len(self._order), np.int64)
        place[self._order] = np.arange(len(self._order))
        self.sends, self.receives = place[:size], place[size : 2 * size]
        turn = 2 * np.arange(size)
        self.turns = self.column(turn, turn + 1, 2 * np.searchsorted(messages.start, at) - 1)

    def column(
        self, sends: NDArray[np.int64], receives: NDArray[np.int64], local: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The values of all sends, of all receives and of the local steps in the order of time."""
        return np.concatenate([sends, receives, local])[self._order]


def _local_blocks(local: Sequence[LocalCopy], most: int) -> NDArray[np.int64]:
    """The thread block (row) of each local step: the first of a rank in one, the next in another, at most `most` in
    each."""
    number = Counter(step.rank for step in local)
    before: Counter[int] = Counter()
    blocks = []
    for step in local:
        share = -(-number[step.rank] // most)
        blocks.append((step.rank, -1, -1, 0, before[step.rank] * share // number[step.rank]))
        before[step.rank] += 1
    return np.array(blocks, np.int64).reshape(-1, 5)


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


def _channels(pairs: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """A channel for each connection: the first that its pair does not use yet and that `most` others of its sender or
    of its receiver do not fill."""
    sending: Counter[tuple[int, int]] = Counter()
    receiving: Counter[tuple[int, int]] = Counter()
    unused: dict[tuple[int, int], int] = {}
    channels = []
    for src, dst in pairs.tolist():
        channel = unused.get((src, dst), 0)  # a pair takes them one after the other
        while sending[src, channel] >= most or receiving[dst, channel] >= most:
            channel += 1
        sending[src, channel] += 1
        receiving[dst, channel] += 1
        unused[src, dst] = channel + 1
        channels.append(channel)
    return np.array(channels, np.int64)
