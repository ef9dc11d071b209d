"""Answers the rows of a sweep, here or on an executor's workers."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.answer import Answer, answer
from hocket.api.sweep.rows import keys_of, row_columns
from hocket.api.sweep.store import Record, opened
from hocket.simulator.analysis import Columns

__all__ = ["Answering", "answer_rows", "answers_of"]

Row = TypeVar("Row")
Answered = TypeVar("Answered")


@dataclass(frozen=True)
class Answering(Generic[Row, Answered]):
    """How rows of one sort are answered: by a function of a module, which other processes know by its name; kept as
    such records; so many at a time by a worker."""

    answer: Callable[[Row], Answered]
    record: type[Record[Row, Answered]]
    batch: int


_SIMULATIONS = Answering(answer, Record[Simulation, Answer], batch=8)
_DTYPES = {str(int): np.int64, str(float): np.float64, str(str): np.str_}


def answer_rows(
    rows: Sequence[Simulation],
    *,
    executor: Executor | None = None,
    path: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Columns:
    """Simulates every row and returns columns in their order: what the rows ask (`rows.row_columns`), then those of
    `Answer` (`ranks`, `time_ps`, `bound_ps` int64, -1 where there is none; `used_algorithm`; `busbw` float64, bytes/s;
    `error`: why a row cannot be simulated, else empty), and `ratio` = time / bound (float64, nan where there is none).

    With `executor` (any `concurrent.futures.Executor`: processes, MPI) its workers simulate; the result is the same.
    With `path` answers are appended there (JSON lines) as they come, and those that are there already are not
    simulated again: a sweep that was interrupted goes on where it stopped. `progress(done, all)` is called whenever
    some are answered. Raises FormatError when the file at `path` is none of a sweep.
    """
    answers = answers_of(rows, keys_of(rows), _SIMULATIONS, executor=executor, path=path, progress=progress)
    return _columns(rows, answers)


def answers_of(
    rows: Sequence[Row],
    keys: Sequence[str],
    work: Answering[Row, Answered],
    *,
    executor: Executor | None = None,
    path: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Answered]:
    """The answers of rows, in their order, each row with the key of its content; as of `answer_rows`."""
    with opened(work.record, path) as store:
        wanted = dict(zip(keys, rows, strict=True))
        asked = [(key, row) for key, row in wanted.items() if key not in store.answers]
        done = len(wanted) - len(asked)
        if progress:
            progress(done, len(wanted))
        for answered in _answers(asked, work, executor):
            store.add(answered)
            done += len(answered)
            if progress:
                progress(done, len(wanted))
        return [store.answers[key] for key in keys]


def _answers(
    asked: list[tuple[str, Row]], work: Answering[Row, Answered], executor: Executor | None
) -> Iterator[list[Record[Row, Answered]]]:
    """Answered batches, as they come."""
    if executor is None:
        yield from (_answer_batch(work, [each]) for each in asked)
        return
    batches = [asked[start : start + work.batch] for start in range(0, len(asked), work.batch)]
    tasks = [executor.submit(_answer_batch, work, batch) for batch in batches]
    try:
        for task in as_completed(tasks):
            yield task.result()
    finally:
        for task in tasks:
            task.cancel()


def _answer_batch(work: Answering[Row, Answered], asked: list[tuple[str, Row]]) -> list[Record[Row, Answered]]:
    return [Record(key, row, work.answer(row)) for key, row in asked]


def _columns(rows: Sequence[Simulation], answers: Sequence[Answer]) -> Columns:
    columns: Columns = {name: np.array(cells) for name, cells in row_columns(rows).items()}
    for field in fields(Answer):
        columns[field.name] = np.array([getattr(each, field.name) for each in answers], _DTYPES[str(field.type)])
    time, bound = columns["time_ps"], columns["bound_ps"]
    columns["ratio"] = np.where(time < 0, np.nan, np.where(bound > 0, time / np.maximum(bound, 1), 1.0))
    return columns
