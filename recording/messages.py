"""Point-to-point messages put together: the sends and receives of each channel."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.matching import Numbering
from hocket.recording.mismatch import Mismatch
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.parts.head import ChannelSpan
from hocket.recording.parts.part import Part
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = [
    "ChannelEnd",
    "MessageChannel",
    "MessageTraffic",
    "Retagged",
    "Unequal",
    "disagreements",
    "find_messages",
    "new_tags",
    "tags_in_trace",
]

Numbers = NDArray[np.int64]

_AT_ONCE = 1 << 20  # messages of a channel whose ends are compared at a time


class MessageChannel(NamedTuple):
    """What messages go in order through: two world ranks, the number of a group and a tag."""

    source: int
    destination: int
    group: int
    tag: int

    def __str__(self) -> str:
        group = f" of group {self.group}" if self.group else ""
        return f"rank {self.source} to {self.destination}, tag {self.tag}{group}"


class ChannelEnd(NamedTuple):
    """A channel as one of its ranks recorded it."""

    part: Part
    span: ChannelSpan

    def rows(self) -> Numbers:
        """Where among the rank's calls the messages are, in order."""
        return self.part.table.read(self.span.begin, self.span.count, ("row",))["row"]

    def read(self, count: int, names: Collection[str], begin: int = 0) -> dict[str, Numbers]:
        """Columns of the table of so many messages from the `begin`-th on."""
        return self.part.table.read(self.span.begin + begin, count, names)

    def sizes(self) -> Numbers:
        """Bytes of the messages of each shape of the rank."""
        return np.array([shape.num_bytes for shape in self.part.shapes], np.int64)


@dataclass(frozen=True, eq=False)
class MessageTraffic:
    """The two ends of a channel."""

    channel: MessageChannel
    send: ChannelEnd | None
    receive: ChannelEnd | None

    @property
    def ends(self) -> tuple[tuple[int, ChannelEnd | None], ...]:
        """Each end's rank and what it recorded."""
        return (self.channel.source, self.send), (self.channel.destination, self.receive)

    @property
    def counts(self) -> tuple[int, int]:
        """How many messages each end has."""
        sends, receives = (0 if end is None else end.span.count for _, end in self.ends)
        return sends, receives

    def lacks_partners(self) -> bool:
        """Whether some message cannot be replayed."""
        both = self.send is not None and self.receive is not None
        return self.counts[0] != self.counts[1] or (both and self.unequal() is not None)

    def unequal(self) -> "Unequal | None":
        """The messages whose two ends differ in size. Of MPI, where a receive ends with the size that was sent, there
        are none."""
        if self.send is None or self.receive is None or self.send.part.meta.mpi or self.receive.part.meta.mpi:
            return None
        sizes = self.send.span.size, self.receive.span.size
        if sizes[0] is not None and sizes[0] == sizes[1]:
            return None
        count, first = 0, None
        for begin in range(0, min(self.counts), _AT_ONCE):
            wanted = min(_AT_ONCE, min(self.counts) - begin)
            sent, received = (_sizes(end, begin, wanted) for end in (self.send, self.receive))
            numbers = np.flatnonzero(sent != received)
            count += len(numbers)
            if first is None and len(numbers):
                first = begin + int(numbers[0]), int(sent[numbers[0]]), int(received[numbers[0]])
        return None if first is None else Unequal(count, *first)


@dataclass(frozen=True)
class Unequal:
    """How many messages of a channel differ in size at their ends, the number of the first, and what was sent and
    received of that, bytes."""

    messages: int
    number: int
    sent: int
    received: int


def _sizes(end: ChannelEnd, begin: int, count: int) -> Numbers:
    return end.sizes()[end.read(count, ("shape",), begin)["shape"]]


def find_messages(parts: Sequence[Part], numbering: Numbering) -> list[MessageTraffic]:
    """All channels that are used, in order; without receives from anyone whose source is not known."""
    found: dict[MessageChannel, list[ChannelEnd | None]] = {}
    for part in parts:
        for span, channel in _channels_of(part, numbering):
            found.setdefault(channel, [None, None])[span.kind] = ChannelEnd(part, span)
    return [MessageTraffic(channel, *ends) for channel, ends in sorted(found.items())]


def _channels_of(part: Part, numbering: Numbering) -> Iterator[tuple[ChannelSpan, MessageChannel]]:
    """The channels that a rank's messages went through."""
    for span in part.head.channels:
        if span.peer != NONE:
            number = numbering[part.head.groups[span.group].key][0]
            ends = (part.rank, span.peer) if PEER_TO_PEER[span.kind] == "send" else (span.peer, part.rank)
            yield span, MessageChannel(*ends, number, span.tag)


def disagreements(messages: Sequence[MessageTraffic]) -> Iterator[Mismatch]:
    """Sends without a receive and the other way round; then messages of another size at their two ends."""
    for traffic in messages:
        sends, receives = traffic.counts
        if sends != receives:
            yield Mismatch("unmatched", f"{traffic.channel}: {sends} sends, {receives} receives")
    for traffic in messages:
        unequal = traffic.unequal()
        if unequal is not None:
            more = f", and {unequal.messages - 1} more differ" if unequal.messages > 1 else ""
            sizes = f"{unequal.sent} B sent, {unequal.received} B received"
            yield Mismatch("different", f"{traffic.channel}: message #{unequal.number}: {sizes}{more}")


class Retagged(NamedTuple):
    """Messages of a rank that get another tag in its trace: `kind` counts in PEER_TO_PEER; `group` is the number of
    their group, `tag` the recorded one."""

    kind: int
    peer: int
    group: int
    tag: int
    new: int


def new_tags(messages: Sequence[MessageTraffic]) -> dict[int, list[Retagged]]:
    """Of each rank the messages that get another tag than they had.

    Readers of traces match messages by ranks and tag alone: where several groups use a tag between two ranks, it stays
    with the first of them, and the others get one that is free there.
    """
    found: dict[int, list[Retagged]] = {}
    channels = (traffic.channel for traffic in messages)
    for _, between in itertools.groupby(channels, key=lambda channel: (channel.source, channel.destination)):
        for channel, tag in _tags_apart(list(between)):
            ends = (channel.source, channel.destination), (channel.destination, channel.source)
            for kind, (rank, peer) in enumerate(ends):
                found.setdefault(rank, []).append(Retagged(kind, peer, channel.group, channel.tag, tag))
    return found


def tags_in_trace(recording: Recording, group_of_shape: Sequence[int], retagged: Sequence[Retagged]) -> Numbers:
    """The tags that a rank's trace gives its calls, 0 for no message; `group_of_shape` has the number of each shape's
    group."""
    tags = recording.by_shape(lambda shape: shape.tag)
    if retagged:
        kinds = recording.by_shape(lambda shape: PEER_TO_PEER.index(shape.kind) if shape.kind in PEER_TO_PEER else -1)
        groups = np.array(group_of_shape, np.int64)[recording.columns.shape]
        aspects = kinds, recording.columns.peer, groups, tags.copy()
        for one in retagged:
            tags[np.logical_and.reduce([column == value for column, value in zip(aspects, one[:4], strict=True)])] = (
                one.new
            )
    return tags


def _tags_apart(channels: Sequence[MessageChannel]) -> list[tuple[MessageChannel, int]]:
    """The channels between two ranks that share the tag of one before, each with a tag that is free."""
    used = {channel.tag for channel in channels}
    free = (tag for tag in itertools.count() if tag not in used)
    seen: set[int] = set()
    apart = []
    for channel in channels:
        if channel.tag in seen:
            apart.append((channel, next(free)))
        seen.add(channel.tag)
    return apart
