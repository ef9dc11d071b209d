"""Launches a job with the collector in it, and merges what was recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hocket.api.collect.recorded import Collected, checked
from hocket.api.collect.request import CollectionRequest, CollectionWatch
from hocket.api.collect.watching import watch, watching
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import HocketError
from hocket.base.interrupts import signal_ignored
from hocket.base.processes import run
from hocket.plugin.installed import check_script
from hocket.plugin.mpi.launch import run_recorded
from hocket.plugin.mpi.library import build_library, find_mpicc
from hocket.plugin.mpi.served import served
from hocket.plugin.serve import VARIABLE
from hocket.recording.folder import make_folder, stream_paths
from hocket.recording.jobs import discard_job, later_parts, reserve_job
from hocket.recording.merge import merge
from hocket.recording.settings import SWITCHES, Settings, variable

__all__ = ["perform"]

_LAUNCHER_S = 40.0  # torchrun gives the ranks 30 s to end before it kills them
_OF_MPI = (
    *("script", "arguments", "output", "skip_steps", "steps", "timeout", "max_bytes", "watch", "mpi", "mpicc"),
    *("strict", "strict_stragglers"),
)


def perform(request: CollectionRequest, progress: Progress) -> Result:
    """Runs the job; `--watch` of a folder follows the job that writes there."""
    if request.watch and Path(request.script).is_dir():
        limits = {"timeout": request.timeout} if "timeout" in request.set_fields() else {}
        return watch(CollectionWatch.of(request.script, **limits), progress)
    if request.mpi:
        request.take_only(_OF_MPI, "--mpi: the job's own launch line says the rest")
        return _mpi(request, progress)
    check_script(request.script)
    return _torchrun(request, progress)


def _torchrun(request: CollectionRequest, progress: Progress) -> Collected:
    always_on = request.always_on()  # first: what is refused leaves no folder of a job
    job = reserve_job(make_folder(request.output), request.script)
    # Unlike a job under another launcher, this one may take the time to build the compiled hook.
    hook = os.environ.get(variable("hook"), "native")
    switches = {name: getattr(request, name) for name in SWITCHES}
    told = request.skip_steps, request.steps, request.timeout
    settings = replace(Settings(request.output, *told, hook, job.name, **switches), **always_on)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={request.ranks}"]
    command = [*torchrun, "-m", "hocket.collect", request.script, *request.arguments]
    # One that comes before a rank's collector handles it is lost, in place of the rank.
    with watching(job, request.watch), signal_ignored(settings.signal):
        code = run(command, grace_s=_LAUNCHER_S, env=os.environ | settings.to_environment()).returncode
    _note_parts(job, progress)
    if any(job.glob("trace.*.et")):
        return checked(Collected(request, job, exit_code=code))
    if stream_paths(job):  # rank 0 did not reach its end
        return checked(Collected(request, job, merge(job), code))
    discard_job(job)
    if code == 0:
        out, limited = (
            request.output,
            " in the steps to record" if request.skip_steps or request.steps is not None else "",
        )
        raise HocketError(
            f"{out}: nothing was recorded: no rank issued a collective{limited}; does the script call"
            " torch.distributed.init_process_group?"
        )
    return Collected(request, Path(request.output), exit_code=code)


def _note_parts(job: Path, progress: Progress) -> None:
    for part in later_parts(job):
        progress.note(f"{job}: the job began to record again, into {part}: hocket collect merge {part}")


def _mpi(request: CollectionRequest, progress: Progress) -> Collected:
    command = [request.script, *request.arguments]
    library = build_library(request.mpicc or find_mpicc(command[0]), progress.note)
    chosen = {variable("skip_steps"): str(request.skip_steps)}
    if request.steps is not None:
        chosen[variable("steps")] = str(request.steps)
    if max_bytes := request.always_on().get("max_bytes"):
        chosen[variable("max_bytes")] = str(max_bytes)
    job = reserve_job(make_folder(request.output), _program(command))
    with served(os.environ.get(VARIABLE)) as programs, watching(job, request.watch):
        code = run_recorded(command, library, job, chosen | programs)
    _note_parts(job, progress)
    if not stream_paths(job):
        discard_job(job)
        if code == 0:
            raise HocketError(
                f"{request.output}: nothing was recorded: no process initialized MPI through a shared library; is MPI"
                " linked statically into the program, or does the launcher drop LD_PRELOAD?"
            )
        return Collected(request, Path(request.output), exit_code=code)
    try:
        return checked(Collected(request, job, merge(job), code))
    except HocketError as error:
        if code == 0:
            raise
        progress.note(f"error: {error}")
    return Collected(request, job, exit_code=code)


def _program(command: Sequence[str]) -> str:
    """What a launch line runs, to call the job by: its last word that is a file, else the launcher."""
    # A program behind -c may be too long for a name, at which Path.is_file raises.
    return next((word for word in reversed(command) if os.path.isfile(word)), command[0])
