"""Draws traces: timelines and graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.api.result import Result
from hocket.api.trace.request import TraceGraph, TraceTimeline
from hocket.base.errors import HocketError
from hocket.chakra.drawing import write_graph
from hocket.chakra.reading import read_trace
from hocket.chakra.timeline import write_timeline

__all__ = ["Drawing", "graph", "timeline"]


@dataclass(frozen=True, eq=False, repr=False)
class Drawing(Result):
    """A picture of traces that was written."""

    request: Request
    path: Path
    num_nodes: int
    text: str

    def summary(self) -> str:
        return self.text


def timeline(request: TraceTimeline, progress: Progress) -> Drawing:
    traces = request.files.open()
    shown = write_timeline(traces, request.output, {"request": request.to_plain()})
    text = f"wrote {shown} nodes of {traces.num_ranks} ranks to {request.output}: open it in https://ui.perfetto.dev"
    return Drawing(request, Path(request.output), shown, text)


def graph(request: TraceGraph, progress: Progress) -> Drawing:
    file = Path(request.file)
    if file.is_dir():
        raise HocketError(f"{file}: is a folder; a graph is of one rank: give one file of it, such as its trace.0.et")
    trace = read_trace(file, request.schema)
    write_graph(trace, request.output, request.limit)
    edges = len(trace.data_deps) + len(trace.ctrl_deps)
    text = f"wrote {len(trace)} nodes and {edges} edges to {request.output}"
    return Drawing(request, Path(request.output), len(trace), text)
