"""What is wrong with a tuner table, and what it makes of a communicator's calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hocket.api.nccl.naming import release_named
from hocket.api.nccl.request import TunerCheck
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import ExitCode, RequestError
from hocket.base.units import format_limit
from hocket.nccl import COLLECTIVES
from hocket.nccl.releases import Release
from hocket.nccl.tuning.check import check_table
from hocket.nccl.tuning.finding import TableFinding, TableSeverity, choice_name
from hocket.nccl.tuning.listing import Segment, segments
from hocket.nccl.tuning.rule_effects import compare
from hocket.nccl.tuning.table import TunerTable, parse_tuner_table
from hocket.topology.machines.hosts import Hosts, hosts_of

__all__ = ["CheckedTable", "perform"]

_MOST_SHOWN = 100


@dataclass(eq=False, repr=False)
class CheckedTable(Report):
    """What is wrong with a table; `exit_code` is not 0 where there are errors."""

    findings: tuple[TableFinding, ...] = ()

    def details(self) -> Mapping[str, Any]:
        return {"findings": [asdict(each) for each in self.findings]}


def perform(request: TunerCheck, progress: Progress) -> CheckedTable:
    hosts = hosts_of(request.against, request.nodes) if request.against is not None else None
    nodes = hosts.nodes if hosts else request.nodes
    if (nodes is None) != (request.ranks is None and request.against is None):
        raise RequestError("--nodes goes with --ranks, or with --against, which knows the ranks")
    told = _domains(request.domains)
    read = parse_tuner_table(request.table)
    findings = tuple(check_table(read))
    lines = [
        f"{request.table}:{finding.line}: {finding.severity.value}: {finding.text}"
        for finding in findings[:_MOST_SHOWN]
    ]
    if len(findings) > _MOST_SHOWN:
        lines.append(f"... and {len(findings) - _MOST_SHOWN} findings more")
    errors = sum(finding.severity is TableSeverity.ERROR for finding in findings)
    lines.append(
        f"{request.table}: {len(read.rules)} rules, {len(read.constants)} constants, {errors} errors,"
        f" {len(findings) - errors} warnings"
    )
    if nodes is not None and request.ranks is not None:
        lines += _listing(read, nodes, request.ranks, told, request.pipe_operations, request.registered)
    if hosts:
        release = release_named(request.version)
        lines += _comparison(read, hosts, told, request.pipe_operations, request.registered, release)
    exit_code = ExitCode.CHECK_FAILED if errors else ExitCode.DONE
    return CheckedTable(request, lines, exit_code, findings)


def _domains(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    try:
        count, least, most = (int(part) for part in text.split(","))
    except ValueError:
        raise RequestError("--domains: expected N,MIN,MAX such as 2,8,8") from None
    return count, least, most


def _listing(
    table: TunerTable,
    nodes: int,
    ranks: int,
    domains: tuple[int, int, int] | None,
    pipe_operations: int,
    registered: bool,
) -> Iterator[str]:
    yield f"on {nodes} node{'s' * (nodes > 1)} and {ranks} ranks:"
    for function, collective in enumerate(COLLECTIVES):
        for segment in segments(table, function, nodes, ranks, domains, pipe_operations, registered):
            yield f"  {collective:<13} {_span(segment):<24} {_text(segment)}"


def _comparison(
    table: TunerTable,
    hosts: Hosts,
    domains: tuple[int, int, int] | None,
    pipe_operations: int,
    registered: bool,
    release: Release,
) -> Iterator[str]:
    yield from (f"note: {note}" for note in release.notes())
    yield f"against NCCL's own choice on {hosts.nodes} x {hosts.name}, powers of two from 8 B to 16 GiB:"
    found = compare(table, hosts, COLLECTIVES, domains, pipe_operations, registered, release)
    if not found:
        yield "  no choice is another"
    for one in found:
        span = _from_to(format_limit(one.least), format_limit(one.most))
        if one.ruled == one.own:
            text = f"{one.own}, as NCCL chooses by itself"
        else:
            by_rule, by_itself = (_from_to(*(f"{time:.1f}" for time in pair)) for pair in (one.ruled_us, one.own_us))
            text = f"{one.ruled}, {by_rule} us, in place of {one.own}, {by_itself} us"
        by = "constants" if one.line is None else f"line {one.line}"
        yield f"  {one.collective:<13} {span:<24} {by}: {text}"


def _from_to(least: str, most: str) -> str:
    return least if least == most else f"{least} .. {most}"


def _span(segment: Segment) -> str:
    if segment.most is None:
        return f"{format_limit(segment.least)} .." if segment.least else "all sizes"
    return f"{format_limit(segment.least)} .. {format_limit(segment.most)}"


def _text(segment: Segment) -> str:
    rule = segment.rule
    if rule is None:
        return "NCCL's own choice"
    name = choice_name(segment.algorithm, segment.protocol) if (rule.algorithm, rule.protocol) != (-1, -1) else "NCCL's"
    channels = f", at most {segment.channels} channels" * (segment.channels > 0)
    chunk = f", chunks of {rule.chunk_bytes} B" * (rule.chunk_bytes > 0)
    passed = f"; not to be had: line {', '.join(str(one.line) for one in segment.passed)}" * bool(segment.passed)
    return f"{name}{channels}{chunk} (line {rule.line}{passed})"
