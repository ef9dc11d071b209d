"""Who answers the points of a sweep: this process, others of this machine, ranks of MPI, or workers of dask."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, cast

from hocket.api.reading import one_of
from hocket.api.sweep.request import Sweep
from hocket.base.errors import HocketError, RequestError
from hocket.base.executables import search_path
from hocket.base.extras import install_command
from hocket.base.strict_yaml import nearest
from hocket.base.workers import Workers

__all__ = ["ServesOthers", "executor_of"]

EXECUTORS = ("serial", "local", "processes", "mpi", "dask")
_SLURM = "slurm"
#: What is said of Slurm's jobs, by what dask-jobqueue calls it.
_SLURM_OPTIONS = {
    **{"jobs": int, "cores": int, "processes": int, "memory": str, "queue": str, "account": str, "walltime": str},
    **{"interface": str, "log_directory": str, "local_directory": str},
}


class ServesOthers(Exception):
    """This process is a rank of MPI that answered what another one asked; that one has the results."""


@contextmanager
def executor_of(request: Sweep) -> Iterator[Workers | Executor | None]:
    """The executor that a request names; None: this process. Raises RequestError for what makes no sense together,
    HocketError where a package or the cluster is not there, `ServesOthers`."""
    name = one_of("--executor", request.executor, EXECUTORS)
    if name == "serial" and (request.jobs is not None or request.time_limit is not None):
        option = "--jobs" if request.jobs is not None else "--time-limit"
        raise RequestError(f"{option} is for --executor local, mpi or dask, whose workers are other processes")
    if (name == "dask") != (request.cluster is not None):
        raise RequestError("--executor dask and --cluster ADDRESS|slurm:... go together: give both or neither")
    if name == "serial":
        yield None
    elif name == "mpi":
        yield from _mpi(request.jobs)
    elif name == "dask":
        assert request.cluster is not None
        yield from _dask(request.cluster, request.jobs)
    else:
        with Workers(request.jobs, request.time_limit) as workers:
            yield workers


def _mpi(jobs: int | None) -> Iterator[Executor]:
    """Under `mpiexec -n N` all ranks but the first work; else MPI starts so many, by its own programs on PATH."""
    os.environ["PATH"] = search_path()
    try:
        from mpi4py import MPI  # initializes MPI
        from mpi4py.futures import MPICommExecutor, MPIPoolExecutor
    except ImportError as error:
        raise HocketError(f"--executor mpi needs mpi4py and an MPI ({error}): {install_command('mpi')}") from error
    # What workers do is in modules: they need not import the program that started this process, which would run it.
    if MPI.COMM_WORLD.Get_size() == 1:
        with MPIPoolExecutor(jobs, main=False) as pool:
            yield pool
        return
    with MPICommExecutor(MPI.COMM_WORLD, main=False) as pool:
        if pool is not None:
            yield cast(Executor, pool)
            return
    raise ServesOthers


def _dask(cluster: str, jobs: int | None) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise HocketError(f"--executor dask needs dask.distributed ({error}): {install_command('dask')}") from error
    if re.match(rf"{_SLURM}(:|$)", cluster):
        with _slurm(cluster.partition(":")[2], jobs) as started, Client(started, set_as_default=False) as client:
            yield client.get_executor(pure=False)
        return
    if jobs is not None:
        raise RequestError("--jobs: a cluster at an address has the workers it has: drop it")
    try:
        client = Client(cluster, timeout="30s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise HocketError(f"--cluster {cluster}: no scheduler of dask answers there: {error}") from error
    with client:
        yield client.get_executor(pure=False)


def _slurm(options: str, jobs: int | None) -> Any:
    """Workers that Slurm is asked for, as jobs of its own."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise HocketError(f"--cluster slurm needs dask-jobqueue ({error}): {install_command('dask')}") from error
    said: dict[str, Any] = {}
    for part in filter(None, options.split(",")):
        name, separator, value = part.partition("=")
        if name not in _SLURM_OPTIONS or not separator:
            raise RequestError(f"--cluster slurm: '{part}': expected NAME=VALUE; {nearest(name, _SLURM_OPTIONS)}")
        try:
            said[name] = _SLURM_OPTIONS[name](value)
        except ValueError:
            raise RequestError(f"--cluster slurm: {name}: '{value}' is no number") from None
    started = int(said.pop("jobs", jobs or 1))
    try:
        made = SLURMCluster(**said)
    except (ValueError, TypeError) as error:
        raise RequestError(f"--cluster slurm: {error}; such as slurm:jobs=4,cores=8,memory=32GB") from error
    made.scale(jobs=started)
    return made
