"""`hocket trace timeline` and `graph`: traces as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket.cli.trace.input import GroupsOption, PathArgument, SchemaOption, open_traces

__all__ = ["GRAPH_EPILOG", "TIMELINE_EPILOG", "graph", "timeline"]

TIMELINE_EPILOG = "Example: hocket trace timeline traces/ -o timeline.json.gz"
GRAPH_EPILOG = "Example: hocket trace graph traces/trace.0.et -o graph.dot && dot -Tsvg -O graph.dot"


def timeline(
    path: PathArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="File, gzipped JSON; Perfetto opens it.")],
    groups: GroupsOption = None,
    schema: SchemaOption = None,
) -> None:
    """Write the measured times of traces, as they were collected, for https://ui.perfetto.dev."""
    from hocket.chakra.timeline import write_timeline

    traces = open_traces(path, groups, schema)
    shown = write_timeline(traces, output)
    typer.echo(f"wrote {shown} nodes of {traces.num_ranks} ranks to {output}: open it in https://ui.perfetto.dev")


def graph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One rank's .et file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File: .graphml (Gephi, yEd) or .dot (Graphviz).")],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most nodes to draw.")] = 5000,
    schema: SchemaOption = None,
) -> None:
    """Write the dependency graph of a trace: edges lead to what depends; in DOT, control dependencies are dashed."""
    from hocket.base.errors import HocketError
    from hocket.chakra.drawing import write_graph
    from hocket.chakra.reading import read_trace

    if file.is_dir():
        raise HocketError(f"{file}: is a folder; a graph is of one rank: give one file of it, such as its trace.0.et")
    trace = read_trace(file, schema)
    write_graph(trace, output, limit)
    typer.echo(f"wrote {len(trace)} nodes and {len(trace.data_deps) + len(trace.ctrl_deps)} edges to {output}")
