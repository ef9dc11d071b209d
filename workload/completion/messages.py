"""The messages of a rank, and which dimension of the grid they show to be a pipeline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hocket.base.errors import TraceError
from hocket.chakra.trace import NodeType, Trace
from hocket.workload.completion.grid import PIPELINE, RankGrid

__all__ = ["PeerChannel", "channels_of", "pipeline_dimension"]


@dataclass(frozen=True)
class PeerChannel:
    """Messages to or from the rank so far away, with one tag."""

    offset: tuple[int, ...]
    tag: int
    is_send: bool

    def other_end(self, grid: RankGrid) -> "PeerChannel":
        """The same as the other rank sees it."""
        back = tuple(-step % size for step, size in zip(self.offset, grid.sizes, strict=True))
        return PeerChannel(back, self.tag, not self.is_send)


def channels_of(grid: RankGrid, rank: int, trace: Trace) -> dict[PeerChannel, tuple[int, ...]]:
    """The sizes of the rank's messages, in order, by where they go."""
    found: dict[PeerChannel, list[int]] = {}
    for row, peer, is_send in _messages(trace):
        channel = PeerChannel(grid.offset(rank, peer), int(trace.comm_tag[row]), is_send)
        found.setdefault(channel, []).append(int(trace.comm_bytes[row]))
    return {channel: tuple(sizes) for channel, sizes in found.items()}


def _messages(trace: Trace) -> Iterator[tuple[int, int, bool]]:
    """Row and other end of each message, and whether it is a send."""
    is_message = (trace.type == NodeType.COMM_SEND) | (trace.type == NodeType.COMM_RECV)
    for row in np.flatnonzero(is_message).tolist():
        is_send = trace.type[row] == NodeType.COMM_SEND
        yield row, int((trace.comm_dst if is_send else trace.comm_src)[row]), bool(is_send)


def pipeline_dimension(grid: RankGrid, traces: Mapping[int, Trace]) -> int | None:
    """The dimension of the grid whose ranks are stages, each of which does something else; None where all do alike.

    That is the one called pp, else the one in which ranks send and receive as all of a ring could not. Raises
    TraceError where messages fit both a pipeline and a ring, and where they are of no one dimension.
    """
    if PIPELINE in grid.names:
        return grid.names.index(PIPELINE)
    found: set[int] = set()
    for rank, trace in traces.items():
        channels = channels_of(grid, rank, trace)
        ring = all(channels.get(channel.other_end(grid)) == sizes for channel, sizes in channels.items())
        for channel in channels:
            moving = [dimension for dimension, step in enumerate(channel.offset) if step]
            if not ring and len(moving) != 1:
                raise TraceError(
                    f"rank {rank}: its messages, such as with rank {grid.moved(rank, channel.offset)}, are neither "
                    "those of a pipeline nor of a ring: give the profiles of the ranks that send and receive others"
                )
            if not ring:
                found |= set(moving)
            elif len(moving) == 1 and not grid.names[moving[0]] and _is_two_sided(grid, channel, channels):
                raise TraceError(_ambiguous(grid, rank, channel, moving[0]))
    if len(found) > 1:
        raise TraceError(f"messages of pipelines go along several dimensions of {grid}: name one with --parallel pp=")
    if found and grid.names[min(found)]:
        raise TraceError(
            f"messages along {grid.names[min(found)]} are not the same on all its ranks, as in a pipeline: name that "
            "with --parallel pp="
        )
    return min(found, default=None)


def _is_two_sided(grid: RankGrid, channel: PeerChannel, channels: Mapping[PeerChannel, tuple[int, ...]]) -> bool:
    back = PeerChannel(channel.other_end(grid).offset, channel.tag, channel.is_send)
    return back in channels


def _ambiguous(grid: RankGrid, rank: int, channel: PeerChannel, dimension: int) -> str:
    peer, size = grid.moved(rank, channel.offset), grid.sizes[dimension]
    return (
        f"rank {rank} sends to and receives from rank {peer}: as a stage of a pipeline of {size} ranks does, and a "
        f"rank of a ring: say which with --parallel, pp={size} or cp={size}"
    )
