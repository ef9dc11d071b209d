"""`hocket trace import`: traces that other tools recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.output import OutputOption, PrefixOption, ProfileOption, write_job

if TYPE_CHECKING:
    from hocket.chakra.importers import ImportedJob

__all__ = ["FORMATS", "import_job"]

FORMATS = ("auto", "pytorch", "mlcommons", "flight-recorder", "nccl-inspector", "nccl-profile")


def _format(name: str) -> str:
    if name not in FORMATS:
        raise typer.BadParameter(f"'{name}' is none of {', '.join(FORMATS)}")
    return name


def import_job(
    paths: Annotated[list[Path], typer.Argument(metavar="FILES|DIR", help="The files of one job, or their folder.")],
    output: OutputOption,
    source: Annotated[
        str, typer.Option("--from", metavar="|".join(FORMATS), callback=_format, help="Who recorded them.")
    ] = "auto",
    profile: ProfileOption = Profile.MLCOMMONS,
    prefix: PrefixOption = "trace",
) -> None:
    """Turn what other tools recorded into Chakra traces, one a rank; prints what could not be known."""
    from hocket.chakra import TraceSet
    from hocket.chakra.importers import import_traces

    job = import_traces(paths, source)
    if job.missing:
        _write_some(job, output, prefix, profile)
    else:
        write_job(TraceSet(tuple(job.traces.values()), job.groups), output, prefix, profile)
    for note, count in job.notes.items():
        typer.echo(f"  note: {note}" + (f" ({count})" if count > 1 else ""))


def _write_some(job: ImportedJob, output: Path, prefix: str, profile: Profile) -> None:
    """Writes the traces of a job of which not all ranks are there."""
    from hocket.chakra import write_trace
    from hocket.chakra.groups import FILE_NAMES, write_groups

    for rank, trace in job.traces.items():
        write_trace(output / f"{prefix}.{rank}.et", trace, profile)
    write_groups(output / FILE_NAMES[0], job.groups)
    num_nodes = sum(map(len, job.traces.values()))
    typer.echo(f"wrote {len(job.traces)} traces with {num_nodes} nodes to {output}")
    shown = ", ".join(map(str, job.missing[:8])) + (", ..." if len(job.missing) > 8 else "")
    typer.echo(f"  note: the traces of ranks {shown}: {len(job.missing)} of {job.world} ranks are missing")
