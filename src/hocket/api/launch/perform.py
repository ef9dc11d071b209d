"""Launches an MPI job that is served by programs."""

from hocket.api.launch.request import Launch
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import RequestError
from hocket.plugin.mpi.launch import run_preloaded
from hocket.plugin.mpi.library import build_library, find_mpicc
from hocket.plugin.mpi.served import served

__all__ = ["perform"]


def perform(request: Launch, progress: Progress) -> Report:
    """Runs the job; the result has its exit code."""
    if not request.command:
        raise RequestError("LAUNCHER: the job's launch line is missing")
    with served(request.algorithms) as variables:
        library = build_library(request.mpicc or find_mpicc(request.command[0]), progress.note)
        code = run_preloaded(request.command, library, variables)
    return Report(request, [], code)
