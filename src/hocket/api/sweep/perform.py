"""Performs a sweep."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.reading import one_of
from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import Answering, answer_rows, answers_of
from hocket.api.sweep.file import load_sweep
from hocket.api.sweep.jobs.answer import answer
from hocket.api.sweep.jobs.columns import columns_of, swept
from hocket.api.sweep.jobs.point import JobPoint, keys_of
from hocket.api.sweep.jobs.result import PAGE, JobSweepResult
from hocket.api.sweep.request import Sweep
from hocket.api.sweep.result import SweepResult, points_in_words
from hocket.api.sweep.store import Record
from hocket.base.errors import HocketError, RequestError
from hocket.base.files import growing_file, require_no_stream, together
from hocket.base.processes import worker_pool
from hocket.report.sweep_page import sweep_page
from hocket.simulator.analysis import JobOutcome, require_parquet, write_csv, write_parquet

__all__ = ["perform"]

EXECUTORS = ("serial", "processes", "mpi")
_JOBS = Answering(answer, Record[JobPoint, JobOutcome], batch=1)


def perform(request: Sweep, progress: Progress) -> SweepResult | JobSweepResult:
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
        progress.count(done, of, points_in_words(of).partition(" ")[2])

    try:
        with _workers(request.executor, request.jobs) as workers, _alone(out):
            path = out / "answers.jsonl"
            result = _answered(request, rows, workers, path, count)
    except KeyboardInterrupt:
        progress.note(f"{answered[0]} of {points_in_words(answered[1])} done; run the same command to go on")
        raise
    with together():
        write_csv(out / "results.csv", result.results)
        if request.parquet:
            write_parquet(out / "results.parquet", result.results)
        if isinstance(result, JobSweepResult):
            result.written.append(out / "results.csv")
            _write_page(result, out / PAGE, progress)
    return result


def _answered(
    request: Sweep,
    rows: Sequence[Simulation] | Sequence[JobPoint],
    executor: Executor | None,
    path: Path,
    progress: Callable[[int, int], None],
) -> SweepResult:
    simulations = [row for row in rows if isinstance(row, Simulation)]
    points = [row for row in rows if isinstance(row, JobPoint)]
    if not points:
        return SweepResult(request, answer_rows(simulations, executor=executor, path=path, progress=progress))
    outcomes = answers_of(points, keys_of(points), _JOBS, executor=executor, path=path, progress=progress)
    jobs = swept(points, outcomes)
    return JobSweepResult(request, columns_of(points, jobs), jobs)


def _write_page(result: JobSweepResult, path: Path, progress: Progress) -> None:
    write_page(path, sweep_page(result.jobs), result.request)
    result.written.append(path)


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
