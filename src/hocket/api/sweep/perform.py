"""Performs a sweep."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.reading import one_of
from hocket.api.result import Result
from hocket.api.sweep.execution import answer_rows
from hocket.api.sweep.file import load_sweep
from hocket.api.sweep.request import Sweep
from hocket.base.errors import HocketError, RequestError
from hocket.base.files import growing_file, require_no_stream, together
from hocket.base.processes import worker_pool
from hocket.simulator.analysis import Columns, require_parquet, write_csv, write_parquet

__all__ = ["SweepResult", "perform"]

EXECUTORS = ("serial", "processes", "mpi")


class SweepResult(Result):
    """Columns, a row a point: `columns()["results"]`."""

    def __init__(self, request: Sweep, results: Columns) -> None:
        self.request: Sweep = request
        self.results = results

    def summary(self) -> str:
        errors = self.results["error"]
        path = Path(self.request.output) / "results.csv"
        return f"{_points(len(errors))}, {int((errors != '').sum())} cannot be simulated (column error): {path}"

    def columns(self) -> Mapping[str, Columns]:
        return {"results": self.results}


def perform(request: Sweep, progress: Progress) -> SweepResult:
    """Simulates what is not answered yet and writes the results. Raises FormatError for a wrong file, RequestError for
    an unknown executor, and HocketError where pyarrow is wanted and absent."""
    if request.parquet:
        require_parquet()
    require_no_stream(request.output)
    rows = load_sweep(request.file)
    out = Path(request.output)
    answered = (0, len(rows))

    def count(done: int, of: int) -> None:
        nonlocal answered
        answered = done, of
        progress.count(done, of, _points(of).partition(" ")[2])

    try:
        with _workers(request.executor, request.jobs) as workers, _alone(out):
            columns = answer_rows(rows, executor=workers, path=out / "answers.jsonl", progress=count)
    except KeyboardInterrupt:
        progress.note(f"{answered[0]} of {_points(answered[1])} done; run the same command to go on")
        raise
    with together():
        write_csv(out / "results.csv", columns)
        if request.parquet:
            write_parquet(out / "results.parquet", columns)
    return SweepResult(request, columns)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Raises HocketError where another sweep is writing to the folder: both would simulate the same points."""
    with growing_file(out / "lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HocketError(
                f"{out}: another sweep is writing there now: wait until it ends, or give another --output"
            ) from None
        yield


def _points(number: int) -> str:
    return f"{number} point" if number == 1 else f"{number} points"


def _workers(name: str, jobs: int | None) -> AbstractContextManager[Executor | None]:
    one_of("--executor", name, EXECUTORS)
    if name == "serial":
        if jobs is not None:
            raise RequestError("--jobs is for --executor processes or mpi")
        return nullcontext()
    if name == "mpi":
        from mpi4py.futures import MPIPoolExecutor  # initializes MPI

        executor: Executor = MPIPoolExecutor(jobs)
        return executor
    return worker_pool(jobs)
