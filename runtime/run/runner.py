"""From a program's file, MSCCL XML or JSON, to measured rows: read, prove, refuse what cannot be run, launch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError, placed
from hocket.runtime.run.job import Job, Result, Row
from hocket.runtime.run.launch import check_backend, launch
from hocket.runtime.run.table import bandwidths
from hocket.schedule import FIFO_DEPTH, execute
from hocket.translator import read_program

__all__ = ["Report", "prepare", "run"]


@dataclass(frozen=True)
class Report:
    """What a run measured."""

    source: str
    job: Job
    rows: tuple[Row, ...]

    @property
    def wrong(self) -> int:
        """Wrong elements over all sizes and ranks; 0 when the program is right."""
        return sum(row.wrong for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Plain data: times in integer picoseconds, bandwidths in bytes per second."""

        def plain(size: int, result: Result | None) -> dict[str, Any] | None:
            if result is None:
                return None
            algorithm, bus = bandwidths(self.job, size, result)
            return {"time_ps": result.time_ps, "algbw": algorithm, "busbw": bus, "wrong": result.wrong}

        return {
            "source": self.source,
            "collective": self.job.program.kind,
            "ranks": self.job.program.num_ranks,
            "root": self.job.program.root,
            "backend": self.job.backend,
            "data_type": self.job.data_type,
            "op": self.job.op,
            "iterations": self.job.iterations,
            "wrong": self.wrong,
            "rows": [
                {
                    "size_bytes": row.size_bytes,
                    "count": row.count,
                    "out_of_place": plain(row.size_bytes, row.out_of_place),
                    "in_place": plain(row.size_bytes, row.in_place),
                    "reference": plain(row.size_bytes, row.reference),
                }
                for row in self.rows
            ],
        }


def prepare(
    path: Path | str,
    backend: str,
    ranks: int | None,
    sizes: Sequence[int],
    *,
    root: int | None = None,
    verify: bool = True,
    **options: Any,
) -> Job:
    """The job that runs the file on `ranks` processes (None: as many as the file is for); `options` as in `Job`.

    The program is proved first, at the FIFO depth the executor gives its protocol, unless `verify` is false. Raises
    FormatError, ScheduleError or DeadlockError for a file that is wrong, HocketError for a request it does not fit, and
    for a backend that is not installed.
    """
    check_backend(backend)
    program = read_program(path, root=root)
    if ranks not in (None, program.num_ranks):
        raise HocketError(
            f"{path}: made for ngpus={program.num_ranks}, asked to run on {ranks} ranks; use -n {program.num_ranks} or "
            f"translate a schedule for {ranks} ranks"
        )
    if not 0 <= program.root < program.num_ranks:
        raise HocketError(f"{path}: root {program.root} is not one of the ranks 0..{program.num_ranks - 1}")
    if verify:
        try:
            execute(program, fifo_depth=FIFO_DEPTH[program.protocol])
        except HocketError as error:
            raise placed(path, error) from error
    return Job(program, backend, tuple(sizes), **options)


def run(
    path: Path | str,
    backend: str = "gloo",
    ranks: int | None = None,
    sizes: Sequence[int] = (1 << 20,),
    *,
    timeout_s: float = 300,
    **options: Any,
) -> Report:
    """Runs an MSCCL XML, or a program's JSON, on real local processes and checks every element of every result.

    `sizes` in bytes of a rank's whole buffer (nccl-tests' size); `options` and errors as in `prepare` and `launch`.
    """
    job = prepare(path, backend, ranks, sizes, **options)
    return Report(str(path), job, tuple(launch(job, timeout_s)))
