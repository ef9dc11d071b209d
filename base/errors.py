"""The error tree, the same in C++ and Python, and the exit code of each branch.

A message names the place (file, rank, node, line or link), what was expected and the remedy.
"""

from enum import IntEnum

from hocket._core import (
    DeadlockError,
    FormatError,
    HocketError,
    Infeasible,
    ScheduleError,
    SimulationError,
    Stopped,
    TopologyError,
    TraceError,
)

__all__ = [
    "DeadlockError",
    "ExitCode",
    "FormatError",
    "HocketError",
    "Infeasible",
    "RequestError",
    "ScheduleError",
    "SimulationError",
    "Stopped",
    "TopologyError",
    "TraceError",
    "exit_code",
]


class RequestError(HocketError):
    """What was asked for makes no sense: a wrong type, an unknown name, options that exclude each other."""


class ExitCode(IntEnum):
    """Exit codes of every `hocket` command."""

    DONE = 0
    CHECK_FAILED = 1
    USAGE = 2
    BAD_INPUT = 3
    INFEASIBLE = 4
    DEADLOCK = 5
    INTERRUPTED = 130


def exit_code(error: HocketError) -> ExitCode:
    """The exit code with which a command that raised `error` ends."""
    if isinstance(error, RequestError):
        return ExitCode.USAGE
    if isinstance(error, Infeasible):
        return ExitCode.INFEASIBLE
    if isinstance(error, DeadlockError):
        return ExitCode.DEADLOCK
    if isinstance(error, Stopped):
        return ExitCode.INTERRUPTED
    return ExitCode.BAD_INPUT
