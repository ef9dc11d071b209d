"""The measured times of traces as a timeline."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hocket.base.errors import TraceError
from hocket.base.text import clipped
from hocket.base.trace_events import arrow_event, name_event, span_event, write_events
from hocket.base.tracks import Tracks
from hocket.chakra.summary import kind_of_node
from hocket.chakra.trace import NodeType, Trace, TraceSource

__all__ = ["MeasuredPart", "WrittenTimeline", "write_timeline"]

_HEAD = 2_000  # bytes of a rank's names of tracks
_OF_ARROWS = 400  # bytes of both ends of an arrow

# Plain numbers: those of columns are compared to them hundreds of thousands of times.
_USES = {int(NodeType.COMP): "compute", int(NodeType.MEM_LOAD): "memory", int(NodeType.MEM_STORE): "memory"}
_SEND = int(NodeType.COMM_SEND)
_ENDS = (_SEND, int(NodeType.COMM_RECV))
_End = tuple[int, int, int]  # rank, track, time in ns


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """What is shown: these ranks (None: all), nodes that start in these microseconds (None: any), and of each rank as
    many of the first as its share of `most_bytes` of JSON holds (None: all)."""

    ranks: Container[int] | None = None
    time_us: tuple[int, int] | None = None
    most_bytes: int | None = 20_000_000


@dataclass(frozen=True, slots=True)
class WrittenTimeline:
    """How many nodes are shown, and how many that were wanted are not, for want of room."""

    num_nodes: int
    left_out: int


def write_timeline(
    traces: TraceSource, path: Path | str, about: Mapping[str, Any] | None = None, part: MeasuredPart | None = None
) -> WrittenTimeline:
    """Writes Chrome trace JSON (`hocket.base.trace_events`), a process per rank, and `about` beside
    them; of all nodes that `part` wants.

    A rank has tracks for computation, memory and communication, as many as are needed for what overlaps; arrows lead
    from sends to their receives. Nodes without a duration are not shown. Raises TraceError when that is all of them,
    and for a rank of which all nodes start at one time: a generated trace tells durations and order, but no times.
    """
    arrows, part = _Arrows(), part or MeasuredPart()
    wanted = [rank for rank in range(traces.num_ranks) if part.ranks is None or rank in part.ranks]
    room = None if part.most_bytes is None else part.most_bytes // max(len(wanted), 1) - _HEAD
    ranks = {rank: _Rank(rank, arrows, part.time_us, room) for rank in wanted}
    there = " in that part" if part.ranks is not None or part.time_us else ""

    def events() -> Iterator[str]:
        for number, trace in traces.blocks():
            if number in ranks:
                yield from ranks[number].events(trace)
        if not sum(rank.num_shown for rank in ranks.values()):
            raise TraceError(f"no node{there} has a duration: these traces have no measured times to show")
        for rank in ranks.values():
            rank.require_times()

    write_events(path, events(), about)
    return WrittenTimeline(*(sum(getattr(rank, name) for rank in ranks.values()) for name in ("num_shown", "left_out")))


class _Rank:
    """The tracks of one rank, how many nodes they show, and within which times these start."""

    def __init__(self, rank: int, arrows: "_Arrows", time_us: tuple[int, int] | None, room: int | None) -> None:
        self.rank = rank
        self.num_shown = self.left_out = 0
        self._time_us, self._room = time_us, room
        self._tracks = Tracks(first="compute")
        self._arrows = arrows
        self._starts_us: tuple[int, int] | None = None

    def events(self, trace: Trace) -> Iterator[str]:
        is_shown = (trace.duration_ns > 0) & (trace.type != NodeType.METADATA)
        if self._time_us is not None:
            is_shown &= (trace.start_us >= self._time_us[0]) & (trace.start_us < self._time_us[1])
        rows = np.flatnonzero(is_shown)
        if not len(rows):
            return
        if not self.num_shown:
            yield name_event("process_name", self.rank, 0, f"rank {self.rank}")
        rows = rows[np.argsort(trace.start_us[rows], kind="stable")]
        starts_us = trace.start_us[rows].tolist()
        bounds = self._starts_us or (starts_us[0], starts_us[0])
        self._starts_us = min(bounds[0], starts_us[0]), max(bounds[1], starts_us[-1])
        names, arguments = _Names(trace), _arguments(trace)
        about = (trace.duration_ns, trace.type, trace.name, trace.id)
        moved = (trace.comm_type, trace.process_group, trace.comm_bytes)
        message = (trace.comm_src, trace.comm_dst, trace.comm_tag)
        for start_us, duration_ns, kind, name, node, comm_type, group, size, src, dst, tag in zip(
            starts_us, *(column[rows].tolist() for column in (*about, *moved, *message)), strict=True
        ):
            start_ns = 1000 * start_us
            track, new = self._tracks.place(_USES.get(kind, "communication"), start_ns, start_ns + duration_ns)
            if new is not None:
                yield name_event("thread_name", self.rank, track, new)
            said = f'"node": {node}{arguments(kind, comm_type, group, size, src, dst)}'
            event = span_event(names[name], self.rank, track, start_ns / 1e3, duration_ns / 1e3, said)
            if not self._has_room(len(event) + _OF_ARROWS * (kind in _ENDS)):
                self.left_out += 1
                continue
            self.num_shown += 1
            yield event
            if kind in _ENDS:
                at_ns = start_ns if kind == _SEND else start_ns + duration_ns - 1
                yield from self._arrows.join((src, dst, tag), kind == _SEND, (self.rank, track, at_ns))

    def _has_room(self, size: int) -> bool:
        """Whether that many bytes find room, which they then take; once something did not, nothing does."""
        if self._room is None:
            return True
        self._room = self._room - size if self._room >= size else 0
        return self._room > 0

    def require_times(self) -> None:
        """Raises TraceError where the nodes of the rank cannot have started when the trace says."""
        if self.num_shown > 1 and self._starts_us is not None and self._starts_us[0] == self._starts_us[1]:
            raise TraceError(
                f"rank {self.rank}: all {self.num_shown} nodes that take time start at {self._starts_us[0]} us, so the"
                " traces do not tell when they ran: draw when they would run on a machine with --topology, such as"
                " -t dgx-h100:nodes=2, or record the job with hocket collect"
            )


class _Arrows:
    """From sends to receives: of one source, destination and tag the k-th send is the k-th receive's."""

    def __init__(self) -> None:
        self._num = 0
        self._waiting: dict[tuple[int, int, int, bool], deque[_End]] = defaultdict(deque)

    def join(self, message: tuple[int, int, int], is_send: bool, end: _End) -> Iterator[str]:
        """The arrow that this end completes, if it does, and clocks that differ do not make it lead back in time."""
        others = self._waiting[(*message, not is_send)]
        if not others:
            self._waiting[(*message, is_send)].append(end)
            return
        other = others.popleft()
        begin, finish = (end, other) if is_send else (other, end)
        if begin[2] > finish[2]:
            return
        for (rank, track, at_ns), begins in ((begin, True), (finish, False)):
            yield arrow_event(self._num, rank, track, at_ns / 1e3, begins=begins)
        self._num += 1


class _Names(dict[int, str]):
    """The strings of a trace as JSON, by their indices; each is encoded once."""

    def __init__(self, trace: Trace) -> None:
        self._strings = trace.strings

    def __missing__(self, index: int) -> str:
        self[index] = json.dumps(clipped(self._strings[index]) if index >= 0 else "")
        return self[index]


def _arguments(trace: Trace) -> Callable[[int, int, int, int, int, int], str]:
    """What follows `node` in the arguments of a node of these columns, as JSON."""

    @cache
    def encoded(kind: int, comm_type: int, group: int, size: int, src: int, dst: int) -> str:
        if kind < _SEND:
            return ""
        what: dict[str, object] = {"kind": kind_of_node(kind, comm_type)}
        what["group"] = clipped(trace.strings[group]) if group >= 0 else ""
        what["size_bytes"] = size
        if kind in _ENDS:
            what["from_rank"], what["to_rank"] = src, dst
        return f", {json.dumps(what)[1:-1]}"

    return encoded
