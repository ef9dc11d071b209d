"""The options and the end of every command that writes traces: which files, for whom, and what was written."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile

if TYPE_CHECKING:
    from hocket.chakra import TraceSet

__all__ = ["OutputOption", "PrefixOption", "ProfileOption", "other_folder", "write_job"]


def _file_name(prefix: str) -> str:
    """A prefix begins the names of files; it is no path."""
    if not prefix or Path(prefix).name != prefix or prefix.startswith("."):
        raise typer.BadParameter(f"'{prefix}' does not begin a file name, such as trace; folders are for --output")
    return prefix


OutputOption = Annotated[Path, typer.Option("-o", "--output", help="Folder for the traces and comm_groups.json.")]
ProfileOption = Annotated[Profile, typer.Option(help="Who shall read the traces: mlcommons (all), astra-sim.")]
PrefixOption = Annotated[str, typer.Option(callback=_file_name, help="The files are called PREFIX.<rank>.et.")]


def other_folder(output: Path, paths: Iterable[str]) -> None:
    """Refuses a folder whose traces are being read."""
    if output.resolve() in {Path(path).resolve().parent for path in paths}:
        raise typer.BadParameter(f"-o {output} would replace the traces that are read: choose another folder")


def write_job(traces: TraceSet, output: Path, prefix: str, profile: Profile) -> None:
    """Writes the traces of all ranks and says how many nodes, and what the profile had to change."""
    from hocket.chakra import write_traces

    with typer.progressbar(
        length=traces.num_ranks, label="writing", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        changes = write_traces(output, traces, prefix, profile, on_written=lambda _: bar.update(1))
    num_nodes = sum(map(len, traces.traces))
    typer.echo(f"wrote {traces.num_ranks} traces with {num_nodes} nodes to {output}")
    for change, count in sorted(changes.items()):
        if count:
            typer.echo(f"  {count} x {change}")
