"""`hocket trace info`: what traces hold, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket.cli.trace.input import GroupsOption, JsonOption, PathArgument, SchemaOption, open_traces, write_json

if TYPE_CHECKING:
    from hocket.chakra.summary import Summary

__all__ = ["EPILOG", "info"]

EPILOG = "Example: hocket trace info traces/ --json -"


def info(
    path: PathArgument,
    groups: GroupsOption = None,
    schema: SchemaOption = None,
    json_to: JsonOption = None,
) -> None:
    """Print ranks, nodes of each type, process groups and a table of the communication."""
    from dataclasses import asdict

    from hocket.chakra.summary import summarize

    summary = summarize(open_traces(path, groups, schema))
    if json_to is None:
        _print(summary)
    else:
        write_json(asdict(summary), json_to)


def _print(summary: Summary) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from hocket.base.units import format_bytes

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    console.print(
        f"{summary.num_ranks} ranks, {summary.num_nodes} nodes, {summary.num_dependencies} dependencies",
        ", ".join(f"{count} {kind}" for kind, count in summary.nodes_per_type.items()),
        sep="\n",
        markup=False,
    )
    for name, ranks in summary.groups.items():
        console.print(f"group {name}: ranks {', '.join(map(str, ranks))}", markup=False)
    table = Table("operation", "group", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("size", "bytes", "nodes", "ranks", "total", "measured us"):
        table.add_column(heading, justify="right")
    for row in summary.communication:
        size = format_bytes(row.num_bytes) if row.num_bytes >= 0 else "absent"
        numbers = (row.num_bytes, row.num_nodes, row.num_ranks)
        table.add_row(
            row.kind, row.group, size, *map(str, numbers), format_bytes(row.total_bytes), str(row.duration_us)
        )
    if summary.communication:
        console.print(table)
