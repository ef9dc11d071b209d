"""`hocket sweep`: a grid of what-ifs from a file, resumable, on one process or many."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from hocket.cli.options import one_of

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXECUTORS = ("serial", "processes", "mpi")


@app.command(epilog="Example: hocket sweep sweep.yaml --out sweep/ --executor processes --jobs 8")
def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="YAML: topology, collective, size, algorithm, ... (docs/results.md).")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--output", "--out", help="Folder for answers.jsonl (resumed if it is there) and results.csv."
        ),
    ] = Path("sweep"),
    executor: Annotated[str, typer.Option(help="serial, processes, or mpi (mpi4py.futures).")] = "serial",
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes; one a processor core by default.")] = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="results.parquet too (needs pyarrow).")] = False,
) -> None:
    """Simulate every combination of the values in FILE; a sweep that was interrupted goes on where it stopped."""
    import sys
    import time

    from hocket.base.errors import ExitCode
    from hocket.simulator.analysis import require_parquet, write_csv, write_parquet
    from hocket.simulator.sweep import load_sweep
    from hocket.simulator.sweep import sweep as run_sweep

    if parquet:
        require_parquet()
    points = load_sweep(file)
    begin, shown = time.perf_counter(), -1.0
    answered = (0, len(points))

    def progress(done: int, of: int) -> None:
        nonlocal shown, answered
        answered = done, of
        now = time.perf_counter()
        if sys.stderr.isatty() and (now - shown > 0.2 or done == of):
            shown = now
            typer.echo(f"\r{done} of {_points(of)}, {now - begin:.0f} s", nl=done == of, err=True)

    try:
        with _workers(executor, jobs) as workers:
            columns = run_sweep(points, executor=workers, path=out / "answers.jsonl", progress=progress)
    except KeyboardInterrupt:
        new_line = "\n" if sys.stderr.isatty() else ""
        typer.echo(f"{new_line}{answered[0]} of {_points(answered[1])} done; run the same command to go on", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    write_csv(out / "results.csv", columns)
    if parquet:
        write_parquet(out / "results.parquet", columns)
    failed = columns["error"] != ""
    typer.echo(f"{_points(len(points))}, {int(failed.sum())} cannot be simulated (column error): {out / 'results.csv'}")


def _points(number: int) -> str:
    return f"{number} point" if number == 1 else f"{number} points"


def _workers(name: str, jobs: int | None) -> AbstractContextManager[Executor | None]:
    one_of("--executor", name, EXECUTORS)
    if name == "serial":
        if jobs is not None:
            raise typer.BadParameter("--jobs is for --executor processes or mpi")
        return nullcontext()
    if name == "mpi":
        from mpi4py.futures import MPIPoolExecutor

        executor: Executor = MPIPoolExecutor(jobs)
        return executor
    import signal
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Ctrl-C reaches every process of the terminal: the one that waits for the others answers it.
    ignored = (signal.SIGINT, signal.SIG_IGN)
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=signal.signal, initargs=ignored)
