"""The options and the end of every command that writes traces: which files, for whom, and what was written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile

if TYPE_CHECKING:
    from hocket.chakra import Trace, TraceSet

__all__ = [
    "OutputOption",
    "PackedOption",
    "PrefixOption",
    "ProfileOption",
    "RankWriter",
    "other_folder",
    "say_written",
    "write_job",
]


def _file_name(prefix: str) -> str:
    """A prefix begins the names of files; it is no path."""
    if not prefix or Path(prefix).name != prefix or prefix.startswith("."):
        raise typer.BadParameter(f"'{prefix}' does not begin a file name, such as trace; folders are for --output")
    return prefix


OutputOption = Annotated[Path, typer.Option("-o", "--output", help="Folder for the traces and comm_groups.json.")]
ProfileOption = Annotated[Profile, typer.Option(help="Who shall read the traces: mlcommons (all), astra-sim.")]
PackedOption = Annotated[bool, typer.Option("--gzip", help="Write PREFIX.<rank>.et.gz.")]
PrefixOption = Annotated[str, typer.Option(callback=_file_name, help="The files are called PREFIX.<rank>.et.")]


def other_folder(output: Path, paths: Iterable[str]) -> None:
    """Refuses a folder whose traces are being read."""
    if output.resolve() in {Path(path).resolve().parent for path in paths}:
        raise typer.BadParameter(f"-o {output} would replace the traces that are read: choose another folder")


def write_job(traces: TraceSet, output: Path, prefix: str, profile: Profile, packed: bool = False) -> None:
    """Writes the traces of all ranks and says how many nodes, and what the profile had to change."""
    from hocket.chakra import write_traces

    with typer.progressbar(
        length=traces.num_ranks, label="writing", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        changes = write_traces(output, traces, prefix, profile, lambda _: bar.update(1), ".et.gz" if packed else ".et")
    say_written(traces.num_ranks, sum(map(len, traces.traces)), output, changes)


class RankWriter:
    """Writes the traces of a job rank by rank, block by block, and says at the end what there is."""

    def __init__(self, output: Path, prefix: str, packed: bool) -> None:
        self._output, self._prefix, self._suffix = output, prefix, ".et.gz" if packed else ".et"
        self._num_ranks = self._num_nodes = 0

    def write(self, rank: int, blocks: Iterable[Trace]) -> int:
        """Writes a rank's trace and says how many nodes it has."""
        from hocket.chakra.writing import write_blocks

        num_nodes = write_blocks(self._output / f"{self._prefix}.{rank}{self._suffix}", blocks)
        self._num_ranks += 1
        self._num_nodes += num_nodes
        return num_nodes

    def finish(self, groups: Mapping[str, tuple[int, ...]], changes: Mapping[str, int]) -> None:
        """Writes the groups, and says how many nodes there are and what was changed."""
        from hocket.chakra.groups import FILE_NAMES, write_groups

        write_groups(self._output / FILE_NAMES[0], groups)
        say_written(self._num_ranks, self._num_nodes, self._output, changes)


def say_written(num_ranks: int, num_nodes: int, output: Path, changes: Mapping[str, int]) -> None:
    """The last lines of a command that writes traces."""
    typer.echo(f"wrote {num_ranks} traces with {num_nodes} nodes to {output}")
    for change, count in sorted(changes.items()):
        if count:
            typer.echo(f"  {count} x {change}")
