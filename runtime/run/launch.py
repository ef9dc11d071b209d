"""Runs a job on one worker per rank and hands on what they measure."""

import pickle
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.base.scratch import hand_over, scratch_folder
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.run.job import Job, Result, Row
from hocket.runtime.run.processes import run_workers

__all__ = ["BACKENDS", "TRANSPORTS", "check_transport", "launch"]

# backend: (module it needs, extra of hocket that brings it)
BACKENDS = {"gloo": ("torch", "torch"), "mpi": ("mpi4py", "mpi")}
#: How programs travel: the engine's shared memory or TCP, and the interpreter of devices on threads, which need
#: nothing; or a backend's messages.
TRANSPORTS = ("shm", "tcp", "device", *BACKENDS)


def _check_installed(backend: str) -> None:
    """Raises HocketError, with the remedy, when the backend is not installed."""
    module, extra = BACKENDS[backend]
    if find_spec(module) is None:
        raise HocketError(f"backend {backend} needs {module}: {install_command(extra)}")


def check_transport(transport: str, compare: bool) -> None:
    """Raises HocketError when the transport is unknown, or it or what it is compared with is not installed."""
    if transport not in TRANSPORTS:
        raise HocketError(f"unknown transport '{transport}'; known: {', '.join(TRANSPORTS)}")
    if transport in BACKENDS:
        _check_installed(transport)
    elif compare:
        _check_installed("gloo")


def launch(job: Job, timeout_s: float) -> Iterator[Row]:
    """Runs the job on local processes and yields each row as it comes; errors as in `run_workers`."""
    remedy = (
        "the ranks wait for each other (run `hocket verify` on the file), or this machine is too slow for the size"
        " (raise --timeout)"
    )
    task = job.task
    with scratch_folder("run") as folder:
        job.library.write(folder, exchanging=task.transport in BACKENDS)
        hand_over(folder / "task.pickle", pickle.dumps((task, timeout_s)))
        if task.transport == "device":
            programs = [algorithm.program for algorithm in job.library.algorithms]
            hand_over(folder / "wiring.pickle", pickle.dumps(Wiring.of(programs)))
        module = "hocket.runtime.run.worker"
        for fields in run_workers(module, folder, task.num_ranks, task.transport == "mpi", timeout_s, remedy):
            yield _row(fields)


def _row(fields: dict[str, Any]) -> Row:
    values: dict[str, Any] = {
        name: Result(**value) if isinstance(value, dict) else value for name, value in fields.items()
    }
    return Row(**values)
