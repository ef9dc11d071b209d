"""Performs a sweep."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import JOBS, SIMULATIONS, Asked, answer_columns, answers_of
from hocket.api.sweep.executors import ServesOthers, executor_of
from hocket.api.sweep.file import SweepFile, load_sweep
from hocket.api.sweep.jobs.columns import columns_of, swept
from hocket.api.sweep.jobs.point import JobPoint
from hocket.api.sweep.jobs.point import keys_of as job_keys_of
from hocket.api.sweep.jobs.result import JobSweepResult
from hocket.api.sweep.pages import page_of
from hocket.api.sweep.request import Sweep
from hocket.api.sweep.result import PAGE, AnsweredElsewhere, SweepResult, points_in_words
from hocket.api.sweep.rows import keys_of
from hocket.api.sweep.store import ANSWERS, SweepRun
from hocket.base.errors import HocketError
from hocket.base.files import growing_file, require_no_stream, together
from hocket.base.workers import Workers
from hocket.simulator.analysis import require_parquet, write_csv, write_parquet

__all__ = ["perform"]


def perform(request: Sweep, progress: Progress) -> SweepResult | AnsweredElsewhere:
    """Simulates what is not answered yet and writes the results. Raises FormatError for a wrong file, RequestError for
    an executor that is none, and HocketError where pyarrow is wanted and absent."""
    if request.parquet:
        require_parquet()
    require_no_stream(request.output)
    try:
        with executor_of(request) as executor:
            return _perform(request, executor, progress)
    except ServesOthers:
        return AnsweredElsewhere(request)


def _perform(request: Sweep, executor: Workers | Executor | None, progress: Progress) -> SweepResult:
    file = load_sweep(request.file)
    file.require_columns()
    out = Path(request.output)
    answered = (0, len(file.rows))

    def count(done: int, of: int) -> None:
        nonlocal answered
        answered = done, of
        progress.count(done, of, "point" if of == 1 else "points")

    try:
        with _alone(out):
            result = _answered(request, file, executor, out / ANSWERS, count)
    except KeyboardInterrupt:
        progress.note(f"{answered[0]} of {points_in_words(answered[1])} done; run the same command to go on")
        raise
    with together():
        write_csv(out / "results.csv", result.results)
        if request.parquet:
            write_parquet(out / "results.parquet", result.results)
        result.written.append(out / "results.csv")
        write_page(out / PAGE, page_of(result, file.plots, [*file.formulas]), result)
        result.written.append(out / PAGE)
    return result


def _answered(
    request: Sweep,
    file: SweepFile,
    executor: Workers | Executor | None,
    path: Path,
    progress: Callable[[int, int], None],
) -> SweepResult:
    run = SweepRun(file.parameters, file.drawn.seed if file.drawn else None, file.document.content)
    asked = Asked(executor=executor, limit_s=request.time_limit, retry=request.retry_failed, run=run)
    simulations = [row for row in file.rows if isinstance(row, Simulation)]
    points = [row for row in file.rows if isinstance(row, JobPoint)]
    if not points:
        answers = answers_of(simulations, keys_of(simulations), SIMULATIONS, asked=asked, path=path, progress=progress)
        return SweepResult(request, file.with_own_columns(answer_columns(simulations, answers)))
    outcomes = answers_of(points, job_keys_of(points), JOBS, asked=asked, path=path, progress=progress)
    jobs = swept(points, outcomes)
    return JobSweepResult(request, file.with_own_columns(columns_of(points, jobs)), jobs)


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
