"""`hocket trace anonymize`: traces without names."""

from __future__ import annotations

from hocket.cli.trace.input import GroupsOption, PathArgument, SchemaOption, open_traces
from hocket.cli.trace.output import OutputOption, PackedOption, PrefixOption, RankWriter, other_folder

__all__ = ["EPILOG", "anonymize"]

EPILOG = "Example: hocket trace anonymize traces/ -o public/"


def anonymize(
    path: PathArgument,
    output: OutputOption,
    groups: GroupsOption = None,
    schema: SchemaOption = None,
    prefix: PrefixOption = "trace",
    packed: PackedOption = False,
) -> None:
    """Write traces with other names of nodes and groups, the same on all ranks, without what else tells of it."""
    import typer

    from hocket.chakra.anonymizing import Anonymizer, described

    traces = open_traces(path, groups, schema)
    other_folder(output, traces.paths)
    anonymizer = Anonymizer(traces.groups)
    writer = RankWriter(output, prefix, packed)
    for rank, file in enumerate(traces.files):
        writer.write(rank, map(anonymizer.anonymize, file.blocks()))
    writer.finish(anonymizer.groups, {})
    for line in described(anonymizer):
        typer.echo(f"  {line}")
