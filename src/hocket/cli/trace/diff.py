"""`hocket trace diff`: what differs between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.base.errors import ExitCode
from hocket.cli.trace.input import JsonOption, SchemaOption, open_traces, write_json

if TYPE_CHECKING:
    from hocket.chakra.difference import Difference, DurationChange

__all__ = ["EPILOG", "diff"]

EPILOG = "Example: hocket trace diff monday/ tuesday/ && echo the runs communicate alike"
_SHOWN = 20


def diff(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Traces of a run: a folder, a prefix or a file.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Traces of another run.")],
    durations: Annotated[
        float | None,
        typer.Option(
            "--durations",
            metavar="PERCENT",
            min=0,
            help="Exit 1 too when all ranks' computation or communication takes longer or shorter by more than this.",
        ),
    ] = None,
    schema: SchemaOption = None,
    json_to: JsonOption = None,
) -> None:
    """Say how two runs communicate differently; exit 1 when they do.

    Compared are the ranks, the ranks of the groups, and what each rank communicates, in order: kind, group, bytes,
    type, root, ends and tag. Durations and the computation between are shown, but do not count unless --durations
    says how much they may change: no two runs have the same.
    """
    from dataclasses import asdict

    from hocket.chakra.difference import difference

    found = difference(open_traces(first, None, schema), open_traces(second, None, schema))
    if json_to is None:
        _print(found)
    else:
        write_json({"differs": found.differs, **asdict(found)}, json_to)
    slower = durations is not None and any(abs(total.percent) > durations for total in found.totals)
    if slower and json_to is None:
        typer.echo(f"computation or communication changed by more than {durations:g} %")
    if found.differs or slower:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(found: Difference) -> None:
    if found.num_ranks[0] != found.num_ranks[1]:
        typer.echo(f"ranks: {found.num_ranks[0]} -> {found.num_ranks[1]}")
    for kind, (before, after) in found.nodes_per_type.items():
        typer.echo(f"{kind} nodes: {before}" + (f" -> {after}" if before != after else ""))
    for which, groups in (("first", found.groups_only_first), ("second", found.groups_only_second)):
        for ranks in groups:
            typer.echo(f"group of ranks {list(ranks)}: only in the {which}")
    for change in found.communication[:_SHOWN]:
        dtype = f" of {change.dtype}" if change.dtype else ""
        where = f" among ranks {list(change.group_ranks)}" if change.group_ranks else ""
        typer.echo(f"{change.kind} of {change.bytes} bytes{dtype}{where}: {change.first} -> {change.second}")
    if len(found.communication) > _SHOWN:
        typer.echo(f"... and {len(found.communication) - _SHOWN} more (--json has all)")
    for one in found.divergences[:_SHOWN]:
        typer.echo(f"rank {one.rank} first differs at its communication {one.index}:")
        for which, node, text in (("first", one.first_node, one.first), ("second", one.second_node, one.second)):
            typer.echo(f"  {which}: " + ("nothing more" if text is None else f"node {node}, {text}"))
    if len(found.divergences) > _SHOWN:
        typer.echo(f"... and {len(found.divergences) - _SHOWN} more ranks (--json has all)")
    _print_durations(found)
    typer.echo("the runs communicate differently" if found.differs else "the runs communicate alike")


def _print_durations(found: Difference) -> None:
    """The table of measured times: ranks' kinds that changed most, then the sums."""
    from rich.console import Console
    from rich.table import Table

    table = Table("rank", "measured time", "first", "second", "change", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    shown = sorted(found.durations, key=lambda change: -abs(change.second - change.first))[:_SHOWN]
    for change in sorted(shown, key=lambda change: (change.rank, change.kind)):
        table.add_row(str(change.rank), *_cells(change))
    if len(found.durations) > _SHOWN:
        table.add_row("...", f"and {len(found.durations) - _SHOWN} that changed less (--json has all)")
    for total in found.totals:
        table.add_row("all", *_cells(total))
    Console(highlight=False, soft_wrap=True).print(table)


def _cells(change: DurationChange) -> tuple[str, str, str, str]:
    return change.kind, f"{change.first / 1e6:.3f} ms", f"{change.second / 1e6:.3f} ms", f"{change.percent:+.1f} %"
