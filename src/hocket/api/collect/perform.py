"""Launches a job with the collector in it, and merges what was recorded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hocket.api.collect.recorded import Collected
from hocket.api.collect.request import CollectionRequest, CollectionWatch
from hocket.api.collect.watching import watch, watching
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import HocketError
from hocket.base.processes import run
from hocket.base.text import shell_word
from hocket.plugin.installed import check_script
from hocket.plugin.mpi.launch import run_recorded
from hocket.plugin.mpi.library import build_library, find_mpicc
from hocket.plugin.mpi.served import served
from hocket.plugin.serve import VARIABLE
from hocket.recording.folder import make_folder, stream_paths
from hocket.recording.merge import merge
from hocket.recording.settings import Settings, variable

__all__ = ["perform"]

_LAUNCHER_S = 40.0  # torchrun gives the ranks 30 s to end before it kills them
_OF_MPI = ("script", "arguments", "output", "skip_steps", "steps", "timeout", "watch", "mpi", "mpicc")


def perform(request: CollectionRequest, progress: Progress) -> Result:
    """Runs the job; `--watch` of a folder follows the job that writes there."""
    if request.watch and Path(request.script).is_dir():
        limits = {"timeout": request.timeout} if "timeout" in request.set_fields() else {}
        return watch(CollectionWatch.of(request.script, **limits), progress)
    if request.mpi:
        request.take_only(_OF_MPI, "--mpi: the job's own launch line says the rest")
        return _mpi(request, progress)
    check_script(request.script)
    _require_empty(request.output)
    make_folder(request.output)
    return _torchrun(request)


def _require_empty(out: str) -> None:
    if stream_paths(out):
        raise HocketError(
            f"{out}: holds a collection already; choose another --out, or remove it: rm -r {shell_word(out)}"
        )


def _torchrun(request: CollectionRequest) -> Collected:
    out = request.output
    # Unlike a job under another launcher, this one may take the time to build the compiled hook.
    hook = os.environ.get(variable("hook"), "native")
    switches = request.ops, request.stacks, request.completion
    settings = Settings(out, request.skip_steps, request.steps, request.timeout, hook, *switches)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={request.ranks}"]
    command = [*torchrun, "-m", "hocket.collect", request.script, *request.arguments]
    with watching(out, request.watch):
        code = run(command, grace_s=_LAUNCHER_S, env=os.environ | settings.to_environment()).returncode
    if any(Path(out).glob("trace.*.et")):
        return Collected(request, Path(out), exit_code=code)
    if stream_paths(out):  # rank 0 did not come to its end
        return Collected(request, Path(out), merge(out), code)
    if code == 0:
        limited = " in the steps to record" if request.skip_steps or request.steps is not None else ""
        raise HocketError(
            f"{out}: nothing was recorded: no rank issued a collective{limited}; does the script call"
            " torch.distributed.init_process_group?"
        )
    return Collected(request, Path(out), exit_code=code)


def _mpi(request: CollectionRequest, progress: Progress) -> Collected:
    out = request.output
    _require_empty(out)
    command = [request.script, *request.arguments]
    library = build_library(request.mpicc or find_mpicc(command[0]), progress.note)
    chosen = {variable("skip_steps"): str(request.skip_steps)}
    if request.steps is not None:
        chosen[variable("steps")] = str(request.steps)
    with served(os.environ.get(VARIABLE)) as programs, watching(out, request.watch):
        code = run_recorded(command, library, Path(out), chosen | programs)
    if not stream_paths(out):
        if code == 0:
            raise HocketError(
                f"{out}: nothing was recorded: no process initialized MPI through a shared library; is MPI linked"
                " statically into the program, or does the launcher drop LD_PRELOAD?"
            )
        return Collected(request, Path(out), exit_code=code)
    try:
        return Collected(request, Path(out), merge(out), code)
    except HocketError as error:
        if code == 0:
            raise
        progress.note(f"error: {error}")
    return Collected(request, Path(out), exit_code=code)
