"""A peer's program run to its end: what it said, and its CPU seconds."""

import resource
import subprocess
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError

__all__ = ["child_cpu_seconds", "run_program"]


def child_cpu_seconds() -> float:
    """Of all processes of this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_program(command: list[str], folder: Path, limit_s: float, remedy: str) -> tuple[str, float]:
    """Raises HocketError, with the remedy, where the program cannot be run, fails, or takes longer than `limit_s`."""
    before = child_cpu_seconds()
    try:
        done = processes.run(command, cwd=folder, capture_output=True, text=True, timeout_s=limit_s)
    except OSError as error:
        raise HocketError(f"{command[0]} cannot be run: {error.strerror}; {remedy}") from error
    except subprocess.TimeoutExpired as error:
        raise HocketError(f"{command[0]} was not done in {limit_s:g} s; allow more with --timeout") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-200:]
        raise HocketError(f"{command[0]} ended with {done.returncode}: '{said}'; {remedy}")
    return done.stdout, child_cpu_seconds() - before
