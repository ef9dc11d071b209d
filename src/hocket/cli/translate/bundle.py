"""What `hocket translate --bundle` prints of the folder it wrote."""

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from hocket.base.units import format_limit, format_time
from hocket.translator.bundle import BundleReport

__all__ = ["print_bundle"]


def print_bundle(report: BundleReport, folder: Path) -> None:
    """A row a file, the proofs in numbers, and what to do next."""
    bundle = report.bundle
    typer.echo(f"{folder}: {bundle.collective} on {bundle.ranks} ranks of {bundle.topology} for {bundle.runtime}")
    table = Table(
        "file",
        "calls",
        "from",
        "to",
        "chunks",
        "thread blocks",
        "predicted",
        "the schedule's own",
        box=None,
        pad_edge=False,
    )
    for file in bundle.files:
        first, last = file.predicted[0], file.predicted[-1]
        table.add_row(
            file.path,
            file.call,
            format_limit(file.min_bytes),
            format_limit(file.max_bytes),
            str(file.chunks),
            str(file.thread_blocks),
            f"{format_time(first.time_ps)} to {format_time(last.time_ps)}",
            " to ".join("-" if one.schedule_ps is None else format_time(one.schedule_ps) for one in (first, last)),
        )
    Console(width=160, no_color=True).print(table)
    for remark in report.remarks:
        typer.echo(remark)
    typer.echo(
        f"proved: {report.proofs} executions, all sizes of the windows: no deadlock, no race, every contribution "
        "exactly once"
    )
    typer.echo(f"run it: {folder}/run.sh; what, how and when not: {folder}/README.md")
