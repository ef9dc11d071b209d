"""Point-to-point messages put together: the sends and receives of each channel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.plugin.torch.operations import PEER_TO_PEER
from hocket.plugin.torch.recording import Recording
from hocket.plugin.torch.waits import NONE

__all__ = ["Channel", "Traffic", "find_messages"]

Numbers = NDArray[np.int64]
_NOTHING: Numbers = np.empty(0, np.int64)


class Channel(NamedTuple):
    """What messages go in order through: two world ranks and a tag."""

    source: int
    destination: int
    tag: int


class Traffic(NamedTuple):
    """The messages of a channel: rows of the sends among the source's calls, of receives among the destination's."""

    sends: Numbers
    receives: Numbers


def find_messages(recordings: Sequence[Recording]) -> dict[Channel, Traffic]:
    """All channels that are used, in order; without receives from anyone whose source is not known."""
    found: dict[Channel, Traffic] = {}
    for recording in recordings:
        tags = recording.by_shape(lambda shape: shape.tag)
        kinds = recording.by_shape(lambda shape: PEER_TO_PEER.index(shape.kind) if shape.kind in PEER_TO_PEER else -1)
        rows = np.flatnonzero((kinds >= 0) & (recording.columns.peer != NONE))
        keys = np.stack([kinds[rows], recording.columns.peer[rows], tags[rows]], axis=1)
        values, which = np.unique(keys, axis=0, return_inverse=True)
        for number, (kind, peer, tag) in enumerate(values.tolist()):
            own = rows[which == number]
            if PEER_TO_PEER[kind] == "send":
                channel = Channel(recording.rank, peer, tag)
                found[channel] = Traffic(own, found.get(channel, Traffic(_NOTHING, _NOTHING)).receives)
            else:
                channel = Channel(peer, recording.rank, tag)
                found[channel] = Traffic(found.get(channel, Traffic(_NOTHING, _NOTHING)).sends, own)
    return dict(sorted(found.items()))
