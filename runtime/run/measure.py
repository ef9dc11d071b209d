"""What every worker does: check and time the program at each size."""

import time
from collections.abc import Callable, Iterator

from hocket.runtime.run.backend import Backend
from hocket.runtime.run.buffers import Buffers, allocate, count_wrong, fill, input_output_elements
from hocket.runtime.run.interpreter import Interpreter
from hocket.runtime.run.job import Job, Result, Row

__all__ = ["measure"]


def measure(job: Job, backend: Backend) -> Iterator[Row]:
    """Runs the job on this rank; every rank yields the same rows, in the order of the sizes."""
    program = job.program
    interpreter = Interpreter(program.gpus[backend.rank], program.protocol, backend, job.elements, job.op)

    def own_collective(buffers: Buffers) -> None:
        backend.collective(program.kind, buffers.input, buffers.output, job.elements, job.op, program.root)

    for size in job.sizes:
        counts = input_output_elements(program.kind, program.num_ranks, size // job.elements.size_bytes)
        yield Row(
            size_bytes=size,
            count=min(counts),
            out_of_place=_result(job, backend, size, False, interpreter.run) if program.out_of_place else None,
            in_place=_result(job, backend, size, True, interpreter.run) if program.in_place else None,
            reference=_result(job, backend, size, False, own_collective) if job.compare else None,
        )


def _result(job: Job, backend: Backend, size: int, in_place: bool, run: Callable[[Buffers], None]) -> Result:
    buffers = allocate(job, backend.rank, size, in_place)

    def wrong_after_run() -> int:
        fill(job, backend.rank, buffers)
        backend.barrier()
        run(buffers)
        return count_wrong(job, backend.rank, buffers)

    wrong = wrong_after_run()
    for _ in range(job.warmup):
        run(buffers)
    backend.barrier()
    start = time.perf_counter_ns()
    for _ in range(job.iterations):
        run(buffers)
    elapsed = time.perf_counter_ns() - start
    # once more at the end: a message that a run leaves behind makes the next one wrong
    everyone = backend.gather_all([elapsed, max(wrong, wrong_after_run())])
    slowest = max(rank_elapsed for rank_elapsed, _ in everyone)
    return Result(slowest * 1000 // job.iterations, sum(rank_wrong for _, rank_wrong in everyone))
