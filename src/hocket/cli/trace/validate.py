"""`hocket trace validate`: whether traces are complete and consistent."""

from __future__ import annotations

from typing import Annotated

import typer

from hocket.base.errors import ExitCode
from hocket.chakra.profile import Profile
from hocket.cli.trace.input import GroupsOption, PathArgument, SchemaOption, open_traces

__all__ = ["EPILOG", "validate"]

EPILOG = "Example: hocket trace validate traces/ --profile astra-sim"


def validate(
    path: PathArgument,
    groups: GroupsOption = None,
    schema: SchemaOption = None,
    profile: Annotated[Profile, typer.Option(help="Also check what this reader of traces needs.")] = Profile.MLCOMMONS,
) -> None:
    """Check every node and what the ranks have to agree on; exit 1 when there are errors."""
    from hocket.chakra.astra_sim import violations
    from hocket.chakra.validate import Severity, validate_files

    traces = open_traces(path, groups, schema)
    findings, num_nodes = validate_files(traces, across_ranks=not path.is_file())
    if profile is Profile.ASTRA_SIM:
        findings += violations(traces.read())
    for finding in findings:
        typer.echo(str(finding))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    typer.echo(f"{traces.num_ranks} ranks, {num_nodes} nodes: {errors} errors, {len(findings) - errors} warnings")
    if errors:
        raise typer.Exit(ExitCode.CHECK_FAILED)
