"""Runs a job on one worker a rank and hands on what they measure."""

import pickle
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hocket.base.errors import HocketError
from hocket.runtime.run.job import Job, Result, Row
from hocket.runtime.run.processes import run_workers

__all__ = ["BACKENDS", "check_backend", "launch"]

# backend: (module it needs, extra of hocket that brings it)
BACKENDS = {"gloo": ("torch", "torch"), "mpi": ("mpi4py", "mpi")}


def check_backend(backend: str) -> None:
    """Raises HocketError when the backend is unknown or not installed."""
    if backend not in BACKENDS:
        raise HocketError(f"unknown backend '{backend}'; known: {', '.join(BACKENDS)}")
    module, extra = BACKENDS[backend]
    if find_spec(module) is None:
        raise HocketError(f"backend {backend} needs {module}: pip install 'hocket[{extra}]'")


def launch(job: Job, timeout_s: float) -> Iterator[Row]:
    """Runs the job on local processes and yields each row as it comes; errors as in `run_workers`."""
    remedy = (
        "the ranks wait for each other (run `hocket verify` on the file), or this machine is too slow for the size"
        " (raise --timeout)"
    )
    with tempfile.TemporaryDirectory(prefix="hocket-run-") as name:
        folder = Path(name)
        (folder / "job.pickle").write_bytes(pickle.dumps(job))
        module, ranks = "hocket.runtime.run.worker", job.program.num_ranks
        for fields in run_workers(module, folder, ranks, job.backend == "mpi", timeout_s, remedy):
            yield _row(fields)


def _row(fields: dict[str, Any]) -> Row:
    values: dict[str, Any] = {
        name: Result(**value) if isinstance(value, dict) else value for name, value in fields.items()
    }
    return Row(**values)
