"""`hocket run --bundle`: each size of a sweep by the program of the bundle that a runtime would take."""

import json
from pathlib import Path

import typer

from hocket.base.errors import ExitCode
from hocket.base.files import atomic_write
from hocket.runtime import run as executor
from hocket.translator.bundle import BundleFile

__all__ = ["run_bundle"]


def run_bundle(folder: Path, run: executor.BundleRun, timeout_s: float, json_path: Path | None) -> None:
    """Runs, prints a row a size and which files served it. Raises typer.Exit when a value was wrong."""
    bundle, job = run.bundle, run.job
    typer.echo(
        f"# {folder}: {bundle.collective} on {bundle.ranks} {job.backend} ranks, by the files that {bundle.runtime} "
        f"would take, warmup iters: {job.warmup} iters: {job.iterations}"
    )
    served = list(run.launch(timeout_s))
    typer.echo(f"#\n{executor.format_header()}")
    for one in served:
        typer.echo(executor.format_row(job, one.row))
    typer.echo(executor.format_footer(job, [one.row for one in served]))
    for one in served:
        size = one.row.size_bytes
        typer.echo(f"# {size:>12}  out-of-place: {_name(one.out_of_place)}, in-place: {_name(one.in_place)}")
    wrong = sum(one.row.wrong for one in served)
    if json_path is not None:
        rows = executor.Report(str(folder), job, tuple(one.row for one in served)).to_json()
        for row, one in zip(rows["rows"], served, strict=True):
            row["files"] = {
                "out_of_place": one.out_of_place and one.out_of_place.path,
                "in_place": one.in_place and one.in_place.path,
            }
        with atomic_write(json_path) as output:
            json.dump(rows, output, indent=1)
    if wrong:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _name(file: BundleFile | None) -> str:
    return "none: stock algorithm" if file is None else file.path.rpartition("/")[2]
