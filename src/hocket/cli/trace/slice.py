"""`hocket trace slice`: a part of a job's traces."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from hocket.cli.trace.input import GroupsOption, PathArgument, SchemaOption, open_traces
from hocket.cli.trace.output import OutputOption, PackedOption, PrefixOption, RankWriter, other_folder

__all__ = ["EPILOG", "slice_job"]

EPILOG = (
    "Examples: hocket trace slice traces/ --steps 2:4 -o part/ | hocket trace slice traces/ --ranks 0-3 -o part/ |"
    " hocket trace slice traces/ --time 10ms:20ms -o part/"
)
_RANGE = re.compile(r"([0-9]{0,19}):([0-9]{0,19})")
_PS_PER_US = 10**6


def slice_job(
    path: PathArgument,
    output: OutputOption,
    steps: Annotated[str | None, typer.Option(metavar="A:B", help="Steps A up to, not with, B: 2:4, 3:, :2.")] = None,
    nodes: Annotated[str | None, typer.Option(metavar="A:B", help="Nodes by their ids, A up to B.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="A:B", help="Nodes that start from A up to B of the trace's time: 0ms:20ms.")
    ] = None,
    ranks: Annotated[
        str | None, typer.Option(metavar="RANKS", help="Ranks, such as 0-3 or 4,6: they become ranks 0, 1, ...")
    ] = None,
    groups: GroupsOption = None,
    schema: SchemaOption = None,
    prefix: PrefixOption = "trace",
    packed: PackedOption = False,
) -> None:
    """Write a part of traces: steps, nodes, times or ranks.

    A dependency on a node that is left out becomes one on what that node depended on. A group keeps those of its ranks
    that are in the part, its collectives their sizes; messages from or to other ranks are left out. What had to change
    is said. Ranks cut by --nodes or --time may end in the middle of a collective: `hocket trace validate` tells.
    """
    from hocket.chakra.slicing import Selection, slice_traces
    from hocket.workload.parsing import parse_ranks

    selection = Selection(
        steps=None if steps is None else _range("--steps", steps),
        nodes=None if nodes is None else _range("--nodes", nodes),
        time_us=None if time is None else _times(time),
        ranks=None if ranks is None else parse_ranks(ranks),
    )
    if selection == Selection():
        raise typer.BadParameter("which part? Name one with --steps, --nodes, --time or --ranks")
    traces = open_traces(path, groups, schema)
    other_folder(output, traces.paths)
    writer = RankWriter(output, prefix, packed)
    left, changes = slice_traces(traces, selection, writer.write)
    writer.finish(left, changes)
    if selection.ranks is not None:
        names = ", ".join(f"{rank} -> {new}" for new, rank in enumerate(selection.ranks))
        typer.echo(f"  ranks: {names}")


def _range(option: str, text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text)
    first, end = (int(found[1] or 0), int(found[2] or 2**63 - 1)) if found else (0, 0)
    if first >= end or end >= 2**63:
        raise typer.BadParameter(f"{option} {text}: expected a first number and one behind the last, such as 2:4")
    return first, end


def _times(text: str) -> tuple[int, int]:
    """Microseconds; a start is of the part when its microsecond is."""
    from hocket.base.units import parse_time

    first, colon, end = text.partition(":")
    times = tuple(-(-parse_time(time) // _PS_PER_US) for time in (first or "0ns", end or "100000s"))
    if not colon or times[0] >= times[1]:
        raise typer.BadParameter(f"--time {text}: expected two times, the first before the second, such as 10ms:20ms")
    return times[0], times[1]
