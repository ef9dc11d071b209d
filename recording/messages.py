"""Point-to-point messages put together: the sends and receives of each channel."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.matching import Numbering
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["ChannelTraffic", "MessageChannel", "find_messages", "find_unequal", "tags_in_trace"]

Numbers = NDArray[np.int64]
_NOTHING: Numbers = np.empty(0, np.int64)


class MessageChannel(NamedTuple):
    """What messages go in order through: two world ranks, the number of a group and a tag."""

    source: int
    destination: int
    group: int
    tag: int

    def __str__(self) -> str:
        group = f" of group {self.group}" if self.group else ""
        return f"rank {self.source} to {self.destination}, tag {self.tag}{group}"


class ChannelTraffic(NamedTuple):
    """The messages of a channel: rows of the sends among the source's calls, of receives among the destination's."""

    sends: Numbers
    receives: Numbers


def find_messages(recordings: Sequence[Recording], numbering: Numbering) -> dict[MessageChannel, ChannelTraffic]:
    """All channels that are used, in order; without receives from anyone whose source is not known."""
    found: dict[MessageChannel, ChannelTraffic] = {}
    for recording in recordings:
        groups = recording.by_shape(lambda shape: numbering[shape.group.key][0])
        tags = recording.by_shape(lambda shape: shape.tag)
        kinds = recording.by_shape(lambda shape: PEER_TO_PEER.index(shape.kind) if shape.kind in PEER_TO_PEER else -1)
        rows = np.flatnonzero((kinds >= 0) & (recording.columns.peer != NONE))
        keys = np.stack([kinds[rows], recording.columns.peer[rows], groups[rows], tags[rows]], axis=1)
        values, which = np.unique(keys, axis=0, return_inverse=True)
        for number, (kind, peer, group, tag) in enumerate(values.tolist()):
            own = rows[which == number]
            if PEER_TO_PEER[kind] == "send":
                channel = MessageChannel(recording.rank, peer, group, tag)
                found[channel] = ChannelTraffic(own, found.get(channel, ChannelTraffic(_NOTHING, _NOTHING)).receives)
            else:
                channel = MessageChannel(peer, recording.rank, group, tag)
                found[channel] = ChannelTraffic(found.get(channel, ChannelTraffic(_NOTHING, _NOTHING)).sends, own)
    return dict(sorted(found.items()))


def find_unequal(
    recordings: Sequence[Recording], messages: Mapping[MessageChannel, ChannelTraffic]
) -> dict[MessageChannel, Numbers]:
    """The messages whose two ends differ in size, a row each: number in its channel, bytes sent, bytes received.

    Of MPI, where a receive ends with the size that was sent, there are none.
    """
    sizes = {
        recording.rank: recording.by_shape(lambda shape: shape.num_bytes)
        for recording in recordings
        if not recording.meta.mpi
    }
    found = {}
    for channel, (sends, receives) in messages.items():
        if channel.source in sizes and channel.destination in sizes:
            count = min(len(sends), len(receives))
            sent, received = sizes[channel.source][sends[:count]], sizes[channel.destination][receives[:count]]
            numbers = np.flatnonzero(sent != received)
            if len(numbers):
                found[channel] = np.stack([numbers, sent[numbers], received[numbers]], axis=1)
    return found


def tags_in_trace(
    recordings: Sequence[Recording], messages: Mapping[MessageChannel, ChannelTraffic]
) -> dict[int, Numbers]:
    """Of each rank the tags that its trace gives its calls, 0 for no message.

    Readers of traces match messages by ranks and tag alone: where several groups use a tag between two ranks, it stays
    with the first of them, and the others get one that is free there.
    """
    tags = {recording.rank: recording.by_shape(lambda shape: shape.tag) for recording in recordings}
    for _, channels in itertools.groupby(messages, key=lambda channel: (channel.source, channel.destination)):
        for channel, tag in _tags_apart(list(channels)):
            for rank, rows in zip((channel.source, channel.destination), messages[channel], strict=True):
                if rank in tags:
                    tags[rank][rows] = tag
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
