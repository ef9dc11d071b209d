"""The arguments and options of every command that reads traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.chakra.reading import TraceFiles

__all__ = ["GroupsOption", "JsonOption", "PathArgument", "SchemaOption", "open_traces", "write_json"]

PathArgument = Annotated[
    Path, typer.Argument(metavar="TRACES", help="A folder of PREFIX.<rank>.et files, a prefix, or one .et file.")
]
GroupsOption = Annotated[
    Path | None,
    typer.Option("--groups", help="Process groups as JSON; default: comm_groups.json beside the traces."),
]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema", metavar="VERSION", help="Schema of the traces, 0.0.1 to 1.0.0, where they do not tell themselves."
    ),
]
JsonOption = Annotated[str | None, typer.Option("--json", help="Write JSON to this file instead (- : stdout).")]


def open_traces(path: Path, groups: Path | None, schema: str | None) -> TraceFiles:
    """The traces of a job, or the one of a file; nothing but their heads is read yet."""
    from hocket.chakra.eras import Era
    from hocket.chakra.groups import read_groups
    from hocket.chakra.reading import TraceFiles, find_groups
    from hocket.cli.options import one_of

    era = one_of("--schema", schema, Era) if schema else None
    if not path.is_file():
        return TraceFiles.of_job(path, groups, era)
    groups = groups or find_groups(path.parent)
    return TraceFiles((path,), read_groups(groups) if groups else {}, era)


def write_json(content: object, to: str) -> None:
    """Writes JSON to a file, or to stdout (`-`)."""
    import json

    from hocket.base.files import atomic_write

    text = json.dumps(content, indent=2)
    if to == "-":
        typer.echo(text)
        return
    with atomic_write(to) as file:
        file.write(text + "\n")
