"""Launches an MPI job with the recorder in its processes."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hocket.core.errors import HocketError
from hocket.core.files import make_folder
from hocket.plugin.torch.folder import stream_path

__all__ = ["OUT_VARIABLE", "run_recorded"]

# Set, the recorder records into this folder. Not HOCKET_COLLECT: that arms the one in PyTorch, which may be there too.
OUT_VARIABLE = "HOCKET_COLLECT_MPI"

_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "orterun", "prterun")


def run_recorded(command: Sequence[str], recorder: Path, out: Path, variables: Mapping[str, str]) -> int:
    """Runs the launch line `command` with `variables` set, all of it recorded into `out`; its exit code.

    Processes on other machines find the recorder where they write: in `out`, which they share. Raises HocketError when
    nothing can be written there.
    """
    preloaded = make_folder(stream_path(out, 0).absolute().parent) / recorder.name
    try:
        shutil.copy(recorder, preloaded)
    except OSError as error:
        raise HocketError(f"{out}: cannot collect into this folder: {error.strerror}") from error
    try:
        before = os.environ.get("LD_PRELOAD", "")
        job = {"LD_PRELOAD": f"{preloaded}:{before}".rstrip(":"), OUT_VARIABLE: str(out.absolute())}
        return _run(command, {**job, "HOCKET_COLLECT_JOB": str(time.time_ns()), **variables})
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
        return subprocess.run(command, env={**os.environ, **variables}).returncode
    return subprocess.run([launcher, *flags, *rest]).returncode


def _version(launcher: str) -> str:
    finished = subprocess.run([launcher, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return finished.stdout + finished.stderr
