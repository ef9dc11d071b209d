"""The measured times of traces as a timeline."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hocket.base.errors import TraceError
from hocket.base.trace_events import name_event, span_event, write_events
from hocket.chakra.summary import kind_of_node
from hocket.chakra.trace import NodeType, Trace, TraceSource

__all__ = ["write_timeline"]

_TRACKS = {NodeType.COMP: "compute", NodeType.MEM_LOAD: "memory", NodeType.MEM_STORE: "memory"}


def write_timeline(traces: TraceSource, path: Path | str, about: Mapping[str, Any] | None = None) -> int:
    """Writes Chrome trace JSON (`hocket.base.trace_events`), a process a rank, and `about` beside
    them; returns how many nodes it shows.

    A rank has tracks for computation, memory and communication, as many as are needed for what overlaps. Nodes without
    a duration are not shown. Raises TraceError when that is all of them.
    """
    tracks = [_Rank(rank) for rank in range(traces.num_ranks)]

    def events() -> Iterator[str]:
        for rank, trace in traces.blocks():
            yield from tracks[rank].events(trace)
        if not sum(rank.num_shown for rank in tracks):
            raise TraceError("no node has a duration: these traces have no measured times to show")

    write_events(path, events(), about)
    return sum(rank.num_shown for rank in tracks)


class _Rank:
    """The tracks of one rank: what each is for, and when it is free again."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.num_shown = 0
        self._tracks: list[tuple[str, int]] = []

    def events(self, trace: Trace) -> Iterator[str]:
        if not self.num_shown:
            yield name_event("process_name", self.rank, 0, f"rank {self.rank}")
        rows = np.flatnonzero((trace.duration_ns > 0) & (trace.type != NodeType.METADATA))
        rows = rows[np.argsort(trace.start_us[rows], kind="stable")]
        for row in rows.tolist():
            start_ns = 1000 * int(trace.start_us[row])
            duration_ns = int(trace.duration_ns[row])
            use = _TRACKS.get(NodeType(trace.type[row]), "communication")
            track = next((k for k, (own, free) in enumerate(self._tracks) if own == use and free <= start_ns), None)
            if track is None:
                track = len(self._tracks)
                count = sum(own == use for own, _ in self._tracks)
                yield name_event("thread_name", self.rank, track, f"{use} {count}" if count else use)
                self._tracks.append((use, 0))
            self._tracks[track] = use, start_ns + duration_ns
            name = json.dumps(trace.text(trace.name, row))
            yield span_event(name, self.rank, track, start_ns / 1e3, duration_ns / 1e3, _arguments(trace, row))
        self.num_shown += len(rows)


def _arguments(trace: Trace, row: int) -> str:
    what: dict[str, object] = {"node": int(trace.id[row])}
    if trace.type[row] >= NodeType.COMM_SEND:
        what["kind"] = kind_of_node(int(trace.type[row]), int(trace.comm_type[row]))
        what["group"] = trace.text(trace.process_group, row)
        what["size_bytes"] = int(trace.comm_bytes[row])
    if trace.type[row] in (NodeType.COMM_SEND, NodeType.COMM_RECV):
        what["from_rank"], what["to_rank"] = int(trace.comm_src[row]), int(trace.comm_dst[row])
    return json.dumps(what)[1:-1]
