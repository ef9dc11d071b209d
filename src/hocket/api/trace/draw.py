"""Draws traces: timelines and graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hocket.api import exported
from hocket.api.progress import Progress
from hocket.api.request import Request
from hocket.api.result import Result
from hocket.api.trace.request import TraceGraph, TraceTimeline
from hocket.api.trace.slice import microseconds
from hocket.base.errors import HocketError, RequestError
from hocket.base.late_imports import late_imports
from hocket.chakra.drawing import write_graph
from hocket.chakra.reading import read_trace
from hocket.chakra.timeline import MeasuredPart, write_timeline

with late_imports(__name__):
    from hocket.api.timelines import cut_of
    from hocket.simulator import timeline_part
    from hocket.simulator import write_timeline as write_predicted_timeline
from hocket.workload.parsing import parse_ranks

__all__ = ["Drawing", "graph", "timeline"]


@dataclass(frozen=True, eq=False, repr=False)
class Drawing(Result):
    """A picture of traces that was written."""

    request: Request
    path: Path
    num_nodes: int
    text: str

    def details(self) -> Mapping[str, Any]:
        return {"path": str(self.path), "num_nodes": self.num_nodes}

    def summary(self) -> str:
        return self.text


def timeline(request: TraceTimeline, progress: Progress) -> Drawing:
    if request.topology is not None:
        return _predicted_timeline(request, request.topology)
    traces = request.files.open()
    whole = MeasuredPart(most_bytes=None) if request.ranks is not None else MeasuredPart()
    part = replace(
        whole,
        ranks=None if request.ranks in (None, "all") else set(parse_ranks(request.ranks or "")),
        time_us=None if request.time is None else microseconds(request.time),
    )
    shown = write_timeline(traces, request.output, {"request": request.to_plain()}, part)
    left_out = f"{shown.left_out:,} nodes" * bool(shown.left_out)
    return _timeline(request, shown.num_nodes, traces.num_ranks, "measured", left_out)


def _predicted_timeline(request: TraceTimeline, spec: str) -> Drawing:
    files = request.files
    if files.schema is not None:
        raise RequestError(
            "--schema: what is simulated tells its schema: hocket trace convert --schema, then draw that"
        )
    prediction = exported("simulate")(files.traces, spec, groups=files.groups).prediction
    part = timeline_part(prediction, cut_of(prediction.topology, request.ranks, request.time))
    shown = write_predicted_timeline(prediction, request.output, {"request": request.to_plain()}, part)
    return _timeline(request, shown, prediction.workload.num_ranks, f"predicted on {spec}", part.left_out)


def _timeline(request: TraceTimeline, num_nodes: int, num_ranks: int, times: str, left_out: str) -> Drawing:
    text = (
        f"wrote {num_nodes} nodes of {num_ranks} ranks to {request.output}, {times}: open it in https://ui.perfetto.dev"
    )
    if left_out:
        text += f"\n  without {left_out}, to stay below 20 MB: --ranks and --time name what to show"
    return Drawing(request, Path(request.output), num_nodes, text)


def graph(request: TraceGraph, progress: Progress) -> Drawing:
    file = Path(request.file)
    if file.is_dir():
        raise HocketError(f"{file}: is a folder; a graph is of one rank: give one file of it, such as its trace.0.et")
    trace = read_trace(file, request.schema)
    write_graph(trace, request.output, request.limit)
    edges = len(trace.data_deps) + len(trace.ctrl_deps)
    text = f"wrote {len(trace)} nodes and {edges} edges to {request.output}"
    return Drawing(request, Path(request.output), len(trace), text)
