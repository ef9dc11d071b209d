"""The error tree, the same in C++ and Python, and the exit code of each branch.

A message names the place (file, rank, node, line or link), what was expected and the remedy. It is one line; an error
that needs several has an argument for each. Names in it may come from files, so `str(error)` escapes what is in them.
"""

from enum import IntEnum
from typing import TypeVar

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
from hocket.base.text import printable

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
    "placed",
]

Error = TypeVar("Error", bound=HocketError)

HocketError.__str__ = lambda self: "\n".join(printable(str(line)) for line in self.args)  # type: ignore[method-assign]


def placed(place: object, error: Error) -> Error:
    """The error with the place where it happened in front of its message."""
    first, *more = error.args
    return type(error)(f"{place}: {first}", *more)


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
