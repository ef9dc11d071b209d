"""`hocket trace`: look at, check and convert Chakra traces."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace_import import import_job
from hocket.cli.trace_output import OutputOption, PrefixOption, ProfileOption, write_job
from hocket.core.errors import ExitCode

if TYPE_CHECKING:
    from hocket.chakra.summary import Summary
    from hocket.chakra.trace import TraceSet

__all__ = ["app"]

app = typer.Typer(
    help="Look at, check and convert Chakra traces.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: hocket trace info traces/",
)

PathArgument = Annotated[
    Path, typer.Argument(metavar="TRACES", help="A folder of PREFIX.<rank>.et files, a prefix, or one .et file.")
]
GroupsOption = Annotated[
    Path | None,
    typer.Option("--groups", help="Process groups as JSON; default: comm_groups.json beside the traces."),
]


def _read(path: Path, groups: Path | None) -> "TraceSet":
    from hocket.chakra import TraceSet, read_trace, read_traces

    if path.is_file():
        return TraceSet((read_trace(path),), paths=(str(path),))
    return read_traces(path, groups)


@app.command(epilog="Example: hocket trace info traces/ --json -")
def info(
    path: PathArgument,
    groups: GroupsOption = None,
    json_to: Annotated[str | None, typer.Option("--json", help="Write JSON to this file instead (- : stdout).")] = None,
) -> None:
    """Print ranks, nodes of each type, process groups and a table of the communication."""
    from hocket.chakra.summary import summarize
    from hocket.core.files import atomic_write

    summary = summarize(_read(path, groups))
    if json_to is None:
        _print_summary(summary)
        return
    text = json.dumps(asdict(summary), indent=2)
    if json_to == "-":
        typer.echo(text)
    else:
        with atomic_write(json_to) as file:
            file.write(text + "\n")


def _print_summary(summary: "Summary") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from hocket.core.units import format_bytes

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


@app.command(epilog="Example: hocket trace validate traces/ --profile astra-sim")
def validate(
    path: PathArgument,
    groups: GroupsOption = None,
    profile: Annotated[Profile, typer.Option(help="Also check what this reader of traces needs.")] = Profile.MLCOMMONS,
) -> None:
    """Check every node and what the ranks have to agree on; exit 1 when there are errors."""
    from hocket.chakra.astra_sim import violations
    from hocket.chakra.validate import Severity, validate_trace
    from hocket.chakra.validate import validate as find

    traces = _read(path, groups)
    findings = validate_trace(traces.traces[0], traces.paths[0]) if path.is_file() else find(traces)
    if profile is Profile.ASTRA_SIM:
        findings += violations(traces)
    for finding in findings:
        typer.echo(str(finding))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    num_nodes = sum(map(len, traces.traces))
    typer.echo(f"{traces.num_ranks} ranks, {num_nodes} nodes: {errors} errors, {len(findings) - errors} warnings")
    if errors:
        raise typer.Exit(ExitCode.CHECK_FAILED)


@app.command("to-json", epilog="Example: hocket trace to-json traces/trace.0.et | head -3")
def to_json(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One rank's .et file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the lines; default: stdout.")] = None,
) -> None:
    """Print every field of a file as JSON lines: the file's metadata, then one node a line."""
    from hocket.chakra.messages import read_messages
    from hocket.chakra.messages import to_json as as_json
    from hocket.core.files import atomic_write

    lines = (as_json(message) for message in read_messages(file))
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    with atomic_write(output) as out:
        out.writelines(f"{line}\n" for line in lines)


@app.command(epilog="Example: hocket trace convert traces/ --profile astra-sim -o astra/")
def convert(
    path: PathArgument,
    output: OutputOption,
    profile: ProfileOption,
    groups: GroupsOption = None,
    prefix: PrefixOption = "trace",
) -> None:
    """Write traces for another reader, saying what had to change."""
    traces = _read(path, groups)
    if output.resolve() == Path(traces.paths[0]).resolve().parent:
        raise typer.BadParameter(f"-o {output} would replace the traces that are read: choose another folder")
    write_job(traces, output, prefix, profile)


app.command("import", epilog="Example: hocket trace import profiles/ --from auto -o traces/")(import_job)
