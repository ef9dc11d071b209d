"""A measurement in a process of its own: it starts with nothing loaded, and limits hold for it alone."""

import subprocess
import sys
from dataclasses import dataclass

import msgspec

from hocket.base import processes

__all__ = ["Limits", "NoAnswer", "answer_of_process"]


@dataclass(frozen=True)
class Limits:
    """Of each process: seconds, and bytes of address space."""

    seconds: float
    memory_bytes: int


class NoAnswer(Exception):
    """Why a process gave no answer."""


def answer_of_process(module: str, task: object, limits: Limits) -> bytes:
    """What `python -m MODULE` prints when it reads a task as JSON. Raises NoAnswer where it fails or takes too
    long."""
    try:
        done = processes.run(
            [sys.executable, "-m", module],
            input=msgspec.json.encode(task),
            capture_output=True,
            timeout_s=limits.seconds,
            memory_bytes=limits.memory_bytes,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"not done in {limits.seconds:g} s") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NoAnswer(last[0] if last else f"ended with {done.returncode}")
    answer: bytes = done.stdout
    return answer
