"""Answers the rows of a sweep, here or on an executor's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.answer import Answer, answer, failed_answer
from hocket.api.sweep.apart import answered_apart
from hocket.api.sweep.jobs.answer import answer as answer_job
from hocket.api.sweep.jobs.answer import failed_outcome
from hocket.api.sweep.rows import keys_of, row_columns
from hocket.api.sweep.store import NO_RUN, Record, SweepRun, opened
from hocket.base.errors import HocketError
from hocket.base.workers import Failed, Workers
from hocket.simulator.analysis import Columns, JobOutcome

__all__ = ["JOBS", "SIMULATIONS", "Answering", "Asked", "answer_columns", "answer_rows", "answers_of"]

Row = TypeVar("Row")
Answered = TypeVar("Answered")


@dataclass(frozen=True)
class Answering(Generic[Row, Answered]):
    """How rows of one sort are answered: by a function of a module, which other processes know by its name; as what one
    that failed counts; so many at a time by a worker of an executor."""

    answer: Callable[[Row], Answered]
    sort: type[Answered]
    failed: Callable[[str], Answered]
    batch: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How rows are asked: by whom (None: here, one after the other), each for `limit_s` seconds at most (of workers
    that are other processes), `retry`: those that failed before too; `run` is noted beside the answers."""

    executor: Workers | Executor | None = None
    limit_s: float | None = None
    retry: bool = False
    run: SweepRun = NO_RUN


SIMULATIONS = Answering(answer, Answer, failed_answer, batch=16)
JOBS = Answering(answer_job, JobOutcome, failed_outcome, batch=1)
_DTYPES = {"int": np.int64, "float": np.float64, "str": np.str_}
_HERE = Asked()


def answer_rows(
    rows: Sequence[Simulation],
    *,
    executor: Workers | Executor | None = None,
    path: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Columns:
    """Simulates every row and returns columns in their order: what the rows ask (`rows.row_columns`), then those of
    `Answer` (`ranks`, `time_ps`, `bound_ps` int64, -1 where there is none; `used_algorithm`; `busbw` float64, bytes/s;
    `error`: why a row cannot be simulated, else empty), and `ratio` = time / bound (float64, nan where there is none).

    With `executor` (processes, or any `concurrent.futures.Executor`) its workers simulate; the result is the same. With
    `path` answers are kept there, in a database (`store`), as they come, and those that are there already are not
    simulated again: a sweep that was interrupted goes on where it stopped. `progress(done, all)` is called whenever
    some are answered. Raises FormatError when the file at `path` is none of a sweep.
    """
    asked = Asked(executor=executor)
    answers = answers_of(rows, keys_of(rows), SIMULATIONS, asked=asked, path=path, progress=progress)
    return answer_columns(rows, answers)


def answers_of(
    rows: Sequence[Row],
    keys: Sequence[str],
    work: Answering[Row, Answered],
    *,
    asked: Asked = _HERE,
    path: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Answered]:
    """The answers of rows, in their order, each row with the key of its content; as of `answer_rows`."""
    with opened(work.sort, path, asked.retry) as store:
        store.begin(keys, asked.run)
        wanted = dict(zip(keys, rows, strict=True))
        left = [(key, row) for key, row in wanted.items() if key not in store.answers]
        done = len(wanted) - len(left)
        if progress:
            progress(done, len(wanted))
        for records in _records(left, work, asked):
            store.add(records)
            done += len(records)
            if progress:
                progress(done, len(wanted))
        return [store.answers[key] for key in keys]


def _records(
    left: list[tuple[str, Row]], work: Answering[Row, Answered], asked: Asked
) -> Iterator[list[Record[Row, Answered]]]:
    """Answered rows, as they come."""
    rows = [row for _, row in left]

    def record(at: int, found: Answered | Failed) -> Record[Row, Answered]:
        key, row = left[at]
        if isinstance(found, Failed):
            return Record(key, row, work.failed(found.reason), found.reason)
        return Record(key, row, found)

    if isinstance(asked.executor, Executor):
        for some in _by_futures(asked.executor, work, rows, asked.limit_s):
            yield [record(at, found) for at, found in some]
        return
    workers = asked.executor
    each = (
        workers.answers(work.answer, rows)
        if workers
        else ((at, _guarded(work.answer, row)) for at, row in enumerate(rows))
    )
    for at, found in each:
        yield [record(at, found)]


def _guarded(answer: Callable[[Row], Answered], row: Row) -> Answered | Failed:
    """The answer; what a defect raises is kept with its row, and others are answered."""
    try:
        return answer(row)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def _by_futures(
    executor: Executor, work: Answering[Row, Answered], rows: Sequence[Row], limit_s: float | None
) -> Iterator[list[tuple[int, Answered | Failed]]]:
    """The places of rows with their answers, in batches, each answered in a process that a worker of the executor keeps
    for that: what a row does to it costs no other row."""
    tasks: dict[Future[Any], int] = {
        executor.submit(answered_apart, work.answer, rows[start : start + work.batch], limit_s): start
        for start in range(0, len(rows), work.batch)
    }
    try:
        for task in as_completed(tasks):
            start = tasks[task]
            try:
                yield [(start + at, found) for at, found in task.result()]
            except (BrokenExecutor, CancelledError) as error:
                raise HocketError(
                    f"the executor is gone ({type(error).__name__}): what was answered is kept; run the same command"
                    " to go on"
                ) from error
            except HocketError:
                raise
            except Exception as error:  # the batch went to workers that died, one after the other
                reason = f"{type(error).__name__}: {error}".partition("\n")[0]
                yield [(start + at, Failed(reason)) for at in range(len(rows[start : start + work.batch]))]
    finally:
        for task in tasks:
            task.cancel()


def answer_columns(rows: Sequence[Simulation], answers: Sequence[Answer]) -> Columns:
    """The columns of `answer_rows`."""
    columns: Columns = {name: np.array(cells) for name, cells in row_columns(rows).items()}
    for field in fields(Answer):
        columns[field.name] = np.array([getattr(each, field.name) for each in answers], _DTYPES[_name(field.type)])
    time, bound = columns["time_ps"], columns["bound_ps"]
    columns["ratio"] = np.where(time < 0, np.nan, np.where(bound > 0, time / np.maximum(bound, 1), 1.0))
    return columns


def _name(sort: Any) -> str:
    return sort if isinstance(sort, str) else sort.__name__
