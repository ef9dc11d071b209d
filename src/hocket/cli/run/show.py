"""What `hocket run` prints: nccl-tests' table, which programs served, and over what they ran."""

import json
from dataclasses import replace
from pathlib import Path

import typer

from hocket.base.errors import ExitCode
from hocket.base.files import atomic_write
from hocket.runtime import run as executor

__all__ = ["show_run"]


def show_run(source: str, job: executor.Job, verified: bool, timeout_s: float, json_path: Path | None) -> None:
    """Runs the job and prints a row a size as it comes. Raises typer.Exit when a value was wrong."""
    task = job.task
    typer.echo(
        f"# {source}: {task.kind} on {task.num_ranks} ranks, transport {task.transport}, warmup iters: {task.warmup} "
        f"iters: {task.iterations}, " + ("proved right for any input" if verified else "NOT PROVED (--no-verify)")
    )
    typer.echo("#\n" + executor.format_header())
    rows = []
    for row in executor.launch(job, timeout_s):
        typer.echo(executor.format_row(task, row))
        rows.append(row)
    typer.echo(executor.format_footer(task, rows))
    _say_what_ran(job, rows)
    if task.compare:
        library = "mpi" if task.transport == "mpi" else "gloo"
        typer.echo(f"# {library}'s own {task.kind} on equal buffers:\n#")
        own = [replace(row, out_of_place=row.reference, in_place=None) for row in rows]
        typer.echo(executor.format_table(task, own))
    report = executor.Report(source, job, tuple(rows))
    if json_path is not None:
        with atomic_write(json_path) as output:
            json.dump(report.to_json(), output, indent=1)
    if report.wrong:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _say_what_ran(job: executor.Job, rows: list[executor.Row]) -> None:
    """The transport, and the program of each kind of calls; size by size where they differ."""
    typer.echo(f"# Transport            : {', '.join(dict.fromkeys(row.transport for row in rows))}")
    sizes = [row.size_bytes for row in rows]
    one_program = len(job.library.algorithms) == 1
    for size in sizes[:1] if one_program else sizes:
        names = (job.served_by(size, way) or "none: stock algorithm" for way in (False, True))
        title = "Program              :" if one_program else f"{size:>12} "
        typer.echo("# {} out-of-place: {}, in-place: {}".format(title, *names))
