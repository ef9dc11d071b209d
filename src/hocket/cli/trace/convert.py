"""`hocket trace convert` and `to-json`: traces for other readers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.input import GroupsOption, PathArgument, SchemaOption, open_traces
from hocket.cli.trace.output import (
    OutputOption,
    PackedOption,
    PrefixOption,
    ProfileOption,
    RankWriter,
    other_folder,
    write_job,
)

__all__ = ["EPILOG", "TO_JSON_EPILOG", "convert", "to_json"]

EPILOG = "Example: hocket trace convert traces/ --profile astra-sim -o astra/"
TO_JSON_EPILOG = "Example: hocket trace to-json traces/trace.0.et | head -3"


def convert(
    path: PathArgument,
    output: OutputOption,
    profile: ProfileOption,
    groups: GroupsOption = None,
    schema: SchemaOption = None,
    prefix: PrefixOption = "trace",
    packed: PackedOption = False,
) -> None:
    """Write traces for another reader, saying what had to change."""
    from collections import Counter

    from hocket.chakra.writing import SCHEMA_VERSION

    traces = open_traces(path, groups, schema)
    other_folder(output, traces.paths)
    if profile is Profile.ASTRA_SIM:
        write_job(traces.read(complete=True), output, prefix, profile, packed)
        return
    writer = RankWriter(output, prefix, packed)
    changes: Counter[str] = Counter()
    for rank, file in enumerate(traces.files):
        num_nodes = writer.write(rank, file.blocks(complete=True))
        if file.era.is_old:
            changes[f"nodes of schema {file.era} written as of {SCHEMA_VERSION}"] += num_nodes
    writer.finish(traces.groups, changes)


def to_json(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One rank's .et file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the lines; default: stdout.")] = None,
    schema: SchemaOption = None,
) -> None:
    """Print every field of a file as JSON lines: the file's metadata, then one node a line."""
    from hocket.base.files import atomic_write
    from hocket.chakra.messages import read_messages
    from hocket.chakra.messages import to_json as as_json

    lines = (as_json(message) for message in read_messages(file, schema))
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    with atomic_write(output) as out:
        out.writelines(f"{line}\n" for line in lines)
