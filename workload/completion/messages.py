"""The messages of a rank: which dimension of the grid is a pipeline, and what its other stages send and receive."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.subset import subset
from hocket.chakra.trace import NodeType, Trace
from hocket.workload.completion.editing import AddedMessage, with_messages
from hocket.workload.completion.grid import PIPELINE, RankGrid

__all__ = ["PeerChannel", "PipelineStages", "channels_of", "pipeline_dimension"]

# Of a stage's time between the arrival of a micro-batch and its gradient's departure, the forward pass takes a third.
_FORWARD_PART = 1 / 3


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


class PipelineStages:
    """What the stages along a dimension do, of which some are known; in the known rank's own numbers."""

    def __init__(self, grid: RankGrid, dimension: int, traces: Mapping[int, Trace]) -> None:
        self._grid, self._dimension = grid, dimension
        self._count = grid.sizes[dimension]
        self._tags: dict[tuple[int, bool], list[int]] = {}
        for rank, trace in traces.items():
            for key, rows in self._between(trace, rank, self.stage(rank)).items():
                self._tags.setdefault(key, trace.comm_tag[rows].tolist())

    def stage(self, rank: int) -> int:
        return self._grid.place(rank)[self._dimension]

    def cost(self, rank: int, stage: int) -> tuple[int, int]:
        """How far what a rank does is from what a stage does: first whether messages have to be left out (1) or made
        (2), then the number of stages between."""
        own, last = self.stage(rank), self._count - 1
        made = (stage > 0 and own == 0) or (stage < last and own == last)
        left_out = (stage == 0 and own > 0) or (stage == last and own < last)
        return (0 if own == stage else 2 if made else 1 if left_out else 0), abs(own - stage)

    def at(self, trace: Trace, rank: int, stage: int, changes: Counter[str]) -> Trace:
        """The trace of a rank as another stage would have it: with messages to and from both neighbours, where it has
        some; `changes` counts what was made and left out."""
        own, last = self.stage(rank), self._count - 1
        if own == stage:
            return trace
        forward = self._rows(trace, rank, 1) if own < last else []
        backward = self._rows(trace, rank, -1) if own > 0 else []
        others = sum(1 for _, peer, _ in _messages(trace) if self._steps(rank, peer) not in (0, None))
        if others > len(forward) + len(backward):
            raise TraceError(
                f"rank {rank}: its messages are to other stages than its neighbours (an interleaved schedule): give "
                f"the profile of a rank of each of the {self._count} stages"
            )
        added: list[AddedMessage] = []
        if stage > 0 and own == 0:
            added = _mirrored(trace, forward, self._neighbour(rank, -1), rank, from_forward=True)
        elif stage < last and own == last:
            added = _mirrored(trace, backward, self._neighbour(rank, 1), rank, from_forward=False)
        keep = np.ones(len(trace), np.bool_)
        keep[forward if stage == last else []] = False
        keep[backward if stage == 0 else []] = False
        changes["messages of its other neighbour added"] += len(added)
        changes["messages of a neighbour that it does not have left out"] += int((~keep).sum())
        return self._tagged(_kept(trace, keep, added), rank, stage)

    def _between(self, trace: Trace, rank: int, stage: int) -> dict[tuple[int, bool], list[int]]:
        """The rows of the messages between a stage and its neighbours, if a rank's trace is that stage's: by the lower
        of both stages and whether they go up from it."""
        found: dict[tuple[int, bool], list[int]] = {}
        for row, peer, is_send in _messages(trace):
            step = self._steps(rank, peer)
            # Two stages are neighbours either way round.
            up = step == 1 and (self._count > 2 or stage == 0)
            if up or step == self._count - 1:
                found.setdefault((stage if up else stage - 1, is_send == up), []).append(row)
        return found

    def _tagged(self, trace: Trace, rank: int, stage: int) -> Trace:
        """The trace with the tags that the other ends of its messages have, as known ones tell; 0 where none does."""
        tags = trace.comm_tag.copy()
        for key, rows in self._between(trace, rank, stage).items():
            known = self._tags.get(key, [0] * len(rows))
            if len(known) == len(rows):  # else they do not fit, which is found where all messages are checked
                tags[rows] = known
        return replace(trace, comm_tag=tags)

    def _rows(self, trace: Trace, rank: int, step: int) -> list[int]:
        peer = self._neighbour(rank, step)
        return [row for row, other, _ in _messages(trace) if other == peer]

    def _steps(self, rank: int, peer: int) -> int | None:
        """Stages from a rank to a peer in its pipeline; None for a peer beside it."""
        offset = list(self._grid.offset(rank, peer))
        step, offset[self._dimension] = offset[self._dimension], 0
        return None if any(offset) else step

    def _neighbour(self, rank: int, step: int) -> int:
        offset = [0] * len(self._grid.sizes)
        offset[self._dimension] = step
        return self._grid.moved(rank, offset)


def _kept(trace: Trace, keep: NDArray[np.bool_], added: list[AddedMessage]) -> Trace:
    if added:
        marked = with_messages(trace, added)
        before = sorted(message.before for message in added)
        keep = np.insert(keep, before, True)
        trace = marked
    return trace if keep.all() else subset(trace, keep)[0]


def _mirrored(trace: Trace, rows: list[int], peer: int, rank: int, *, from_forward: bool) -> list[AddedMessage]:
    """What goes on with a stage's other neighbour, by its messages with one.

    Of the next stage (`from_forward`): before a micro-batch is sent on, it is received from the previous stage; when
    its gradient was received and computed on, that is sent back. Of the previous stage: when a micro-batch was
    received and computed on, it is sent on; and before its gradient is sent back, it is received.
    """
    added = []
    computing = np.flatnonzero(trace.type == NodeType.COMP)
    for place, row in enumerate(rows):
        begin = rows[place - 1] + 1 if place else 0
        end = rows[place + 1] if place + 1 < len(rows) else len(trace)
        is_send = trace.type[row] == NodeType.COMM_SEND
        size, tag = int(trace.comm_bytes[row]), int(trace.comm_tag[row])
        if is_send:  # what it sends was received before
            between = computing[(computing >= begin) & (computing < row)]
            begins = _split(trace, between) if not from_forward else 0
            first = int(between[begins]) if len(between) else row
            added.append(AddedMessage(first, False, size, peer, rank, tag, awaited_by=first))
        else:  # what it received is sent on
            between = computing[(computing > row) & (computing < end)]
            ends = len(between) - 1 if from_forward else max(_split(trace, between) - 1, 0)
            last = int(between[ends]) if len(between) else row
            added.append(AddedMessage(last + 1, True, size, rank, peer, tag, after=last))
    return added


def _split(trace: Trace, rows: NDArray[np.int64]) -> int:
    """Which of the rows begins the backward pass, where they are both passes of a micro-batch."""
    if len(rows) < 2:
        return 0
    done = np.cumsum(trace.duration_ns[rows])
    return int(np.clip(np.searchsorted(done, done[-1] * _FORWARD_PART) + 1, 1, len(rows) - 1))
