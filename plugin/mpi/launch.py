"""Launches an MPI job with Hocket's library in its processes."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hocket.base import processes
from hocket.base.files import copy_file
from hocket.recording.jobs import JOB_VARIABLE

__all__ = ["OUT_VARIABLE", "run_preloaded", "run_recorded"]

# Set, the recorder records into this folder of jobs. Not HOCKET_COLLECT: that arms the one in PyTorch, which may be
# there too.
OUT_VARIABLE = "HOCKET_COLLECT_MPI"

_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "orterun", "prterun")


def run_preloaded(command: Sequence[str], library: Path, variables: Mapping[str, str]) -> int:
    """Runs the launch line `command` with `library` in front of MPI and `variables` set; its exit code."""
    before = os.environ.get("LD_PRELOAD", "")
    return _run(command, {"LD_PRELOAD": f"{library}:{before}".rstrip(":"), **variables})


def run_recorded(command: Sequence[str], library: Path, job: Path, variables: Mapping[str, str]) -> int:
    """Runs the launch line `command` with `variables` set, all of it recorded into the folder `job`; its exit code.

    Processes on other machines find the library where they write: in `job`, which they share. Raises HocketError when
    nothing can be written there.
    """
    job = job.absolute()
    preloaded = job / library.name
    copy_file(library, preloaded)
    try:
        return run_preloaded(command, preloaded, {OUT_VARIABLE: str(job.parent), JOB_VARIABLE: job.name, **variables})
    finally:
        preloaded.unlink()


def _run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """With variables set for the launched processes: by the launcher where it is known, so that it passes them on to
    other machines and is not preloaded itself; else by the environment."""
    launcher, *rest = command
    said = _version(launcher) if Path(launcher).name in _LAUNCHERS else ""
    if any(name in said for name in ("HYDRA", "Intel(R) MPI")):
        flags = [text for name, value in variables.items() for text in ("-genv", name, value)]
    elif any(name in said for name in ("Open MPI", "OpenRTE", "PRRTE", "prte")):
        flags = [text for name, value in variables.items() for text in ("-x", f"{name}={value}")]
    else:
        return processes.run(command, env={**os.environ, **variables}).returncode
    return processes.run([launcher, *flags, *rest]).returncode


def _version(launcher: str) -> str:
    finished = processes.run([launcher, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return f"{finished.stdout}{finished.stderr}"
