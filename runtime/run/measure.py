"""What every worker does: check and time the programs at each size."""

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from hocket.runtime.run.buffers import Buffers, allocate, count_wrong, fill, input_output_elements
from hocket.runtime.run.datatypes import Array
from hocket.runtime.run.job import Result, Row, RunTask

__all__ = ["Own", "Ranks", "measure"]

#: A library's own collective, out of place, in NCCL's layout: input and output.
Own = Callable[[Array, Array], None]
_Run = Callable[[Buffers], None]


class Ranks(Protocol):
    """One process' end of a world of `size` ranks."""

    rank: int
    size: int

    def runner(self, size_bytes: int, in_place: bool) -> _Run | None:
        """Runs the program that serves such calls; None where none does."""

    def barrier(self) -> None:
        """Returns when every rank has called it."""

    def gather_all(self, values: list[int]) -> list[list[int]]:
        """Every rank's values, by rank."""


def measure(task: RunTask, ranks: Ranks, own: Own | None = None, transport: Callable[[], str] = str) -> Iterator[Row]:
    """Does the task on this rank; every rank yields the same rows, in the order of the sizes. `own`: what is compared
    with."""

    def own_collective(buffers: Buffers) -> None:
        assert own is not None
        own(buffers.input, buffers.output)

    for size in task.sizes:
        counts = input_output_elements(task.kind, task.num_ranks, size // task.elements.size_bytes)
        out_of_place, in_place = (_result(task, ranks, size, way, ranks.runner(size, way)) for way in (False, True))
        reference = _result(task, ranks, size, False, own_collective if own else None)
        yield Row(size, min(counts), out_of_place, in_place, reference, transport())


def _result(task: RunTask, ranks: Ranks, size: int, in_place: bool, run: _Run | None) -> Result | None:
    if run is None:
        return None
    buffers = allocate(task, ranks.rank, size, in_place)

    def wrong_after_run() -> int:
        fill(task, ranks.rank, buffers)
        ranks.barrier()
        run(buffers)
        return count_wrong(task, ranks.rank, buffers)

    wrong = wrong_after_run()
    for _ in range(task.warmup):
        run(buffers)
    ranks.barrier()
    start = time.perf_counter_ns()
    for _ in range(task.iterations):
        run(buffers)
    elapsed = time.perf_counter_ns() - start
    # once more at the end: a message that a run leaves behind makes the next one wrong
    everyone = ranks.gather_all([elapsed, max(wrong, wrong_after_run())])
    slowest = max(rank_elapsed for rank_elapsed, _ in everyone)
    return Result(slowest * 1000 // task.iterations, sum(rank_wrong for _, rank_wrong in everyone))
