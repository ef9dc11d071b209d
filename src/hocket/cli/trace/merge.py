"""`hocket trace merge`: traces from several places as those of one job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket.cli.trace.output import OutputOption, PackedOption, PrefixOption, RankWriter, other_folder

__all__ = ["EPILOG", "merge"]

EPILOG = "Example: hocket trace merge host0/ host1/ -o traces/"


def merge(
    paths: Annotated[
        list[Path], typer.Argument(metavar="TRACES...", help="Folders, prefixes and .et files, whatever their names.")
    ],
    output: OutputOption,
    ranks: Annotated[
        str | None,
        typer.Option(metavar="RANKS", help="Rank of each file in the order given; else its metadata or name tells."),
    ] = None,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="The files are ranks 0, 1, ... as given; numbers in them stay.")
    ] = False,
    prefix: PrefixOption = "trace",
    packed: PackedOption = False,
) -> None:
    """Write the traces of ranks from several folders, or with other names or numbers, as one job's PREFIX.<rank>.et."""
    from hocket.chakra.merging import Merge, trace_paths
    from hocket.workload.parsing import parse_ranks

    if ranks is not None and in_order:
        raise typer.BadParameter("--ranks names the ranks, --in-order takes them as they come: choose one")
    merged = Merge(
        [file for path in paths for file in trace_paths(path)], parse_ranks(ranks) if ranks else None, in_order
    )
    other_folder(output, [str(file.path) for file in merged.files])
    writer = RankWriter(output, prefix, packed)
    for rank in range(len(merged.files)):
        writer.write(rank, merged.blocks(rank))
    writer.finish(merged.groups, merged.changes)
    for rank, (file, number) in enumerate(zip(merged.files, merged.numbers, strict=True)):
        was = "" if number == rank else f" (was {number})"
        typer.echo(f"  rank {rank}{was}: {file.path}")
