"""`hocket nccl tuner check`: what is wrong with a table, and what it makes of a communicator's calls."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.nccl.tuning.listing import Segment
    from hocket.nccl.tuning.table import TunerTable

__all__ = ["EPILOG", "check"]

EPILOG = (
    "Example: hocket nccl tuner check table.csv --nodes 2 --ranks 16; hocket nccl tuner check table.csv --nodes 2"
    " --against dgx-h100"
)

_MOST_SHOWN = 100


def check(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="The table of NCCL's tuner plugin.")],
    nodes: Annotated[int | None, typer.Option(min=1, help="List what applies on a communicator of so many nodes.")] = (
        None
    ),
    ranks: Annotated[int | None, typer.Option(min=1, help="And so many ranks.")] = None,
    domains: Annotated[
        str | None, typer.Option(metavar="N,MIN,MAX", help="Its NVLink domains, least and most ranks of one.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="MACHINE", help="Compare with NCCL's own choice: its topology XML, or a preset's name."),
    ] = None,
    pipe_operations: Annotated[int, typer.Option("--pipe-ops", min=1, help="Operations of a group (numPipeOps).")] = 1,
    registered: Annotated[bool, typer.Option("--registered", help="With buffers that the user registered.")] = False,
) -> None:
    """Say what is wrong with a table for NCCL's tuner plugin: lines that cannot be read (the plugin then does nothing),
    rules that never take effect, that overlap, that leave gaps.

    Exits with 1 where there are errors; warnings leave 0. With --nodes and --ranks, lists which rule applies to which
    sizes, provided that NCCL offers what it asks for; with --against, what the rules change on such machines, and the
    times that NCCL's model (2.30.7, with the table's constants) expects of both.
    """
    from hocket.base.errors import ExitCode
    from hocket.nccl.tuning.check import Severity, check_table
    from hocket.nccl.tuning.table import parse_tuner_table

    if against is not None and nodes is None:
        nodes = 1
    if (nodes is None) != (ranks is None and against is None):
        raise typer.BadParameter("--nodes goes with --ranks, or with --against, which knows the ranks")
    told = _domains(domains)
    read = parse_tuner_table(table)
    findings = check_table(read)
    for finding in findings[:_MOST_SHOWN]:
        typer.echo(f"{table}:{finding.line}: {finding.severity.value}: {finding.text}")
    if len(findings) > _MOST_SHOWN:
        typer.echo(f"... and {len(findings) - _MOST_SHOWN} findings more")
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    typer.echo(
        f"{table}: {len(read.rules)} rules, {len(read.constants)} constants, {errors} errors,"
        f" {len(findings) - errors} warnings"
    )
    if nodes is not None and ranks is not None:
        _print_listing(read, nodes, ranks, told, pipe_operations, registered)
    if against is not None and nodes is not None:
        _print_comparison(read, against, nodes, told, pipe_operations, registered)
    if errors:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _domains(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    try:
        count, least, most = (int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter("--domains: expected N,MIN,MAX such as 2,8,8") from None
    return count, least, most


def _print_listing(
    table: "TunerTable",
    nodes: int,
    ranks: int,
    domains: tuple[int, int, int] | None,
    pipe_operations: int,
    registered: bool,
) -> None:
    from hocket.nccl import COLLECTIVES
    from hocket.nccl.tuning.listing import segments

    typer.echo(f"on {nodes} node{'s' * (nodes > 1)} and {ranks} ranks:")
    for function, collective in enumerate(COLLECTIVES):
        for segment in segments(table, function, nodes, ranks, domains, pipe_operations, registered):
            typer.echo(f"  {collective:<13} {_span(segment):<24} {_text(segment)}")


def _print_comparison(
    table: "TunerTable",
    machine: str,
    nodes: int,
    domains: tuple[int, int, int] | None,
    pipe_operations: int,
    registered: bool,
) -> None:
    from hocket.base.units import format_limit
    from hocket.nccl import COLLECTIVES
    from hocket.nccl.tuning.against import compare
    from hocket.topology.machines.loading import load_machine

    typer.echo(f"against NCCL's own choice on {nodes} x {machine}, powers of two from 8 B to 16 GiB:")
    found = compare(table, load_machine(machine), nodes, COLLECTIVES, domains, pipe_operations, registered)
    if not found:
        typer.echo("  no choice is another")
    for one in found:
        span = _from_to(format_limit(one.least), format_limit(one.most))
        if one.ruled == one.own:
            text = f"{one.own}, as NCCL chooses by itself"
        else:
            by_rule, by_itself = (_from_to(*(f"{time:.1f}" for time in pair)) for pair in (one.ruled_us, one.own_us))
            text = f"{one.ruled}, {by_rule} us, in place of {one.own}, {by_itself} us"
        by = "constants" if one.line is None else f"line {one.line}"
        typer.echo(f"  {one.collective:<13} {span:<24} {by}: {text}")


def _from_to(least: str, most: str) -> str:
    return least if least == most else f"{least} .. {most}"


def _span(segment: "Segment") -> str:
    from hocket.base.units import format_limit

    if segment.most is None:
        return f"{format_limit(segment.least)} .." if segment.least else "all sizes"
    return f"{format_limit(segment.least)} .. {format_limit(segment.most)}"


def _text(segment: "Segment") -> str:
    from hocket.nccl.tuning.check import choice_name

    rule = segment.rule
    if rule is None:
        return "NCCL's own choice"
    name = choice_name(segment.algorithm, segment.protocol) if (rule.algorithm, rule.protocol) != (-1, -1) else "NCCL's"
    channels = f", at most {segment.channels} channels" * (segment.channels > 0)
    chunk = f", chunks of {rule.chunk_bytes} B" * (rule.chunk_bytes > 0)
    passed = f"; not to be had: line {', '.join(str(one.line) for one in segment.passed)}" * bool(segment.passed)
    return f"{name}{channels}{chunk} (line {rule.line}{passed})"
