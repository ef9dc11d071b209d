"""The `hocket` command: what it is given becomes a request, whose result it shows."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import typer

from hocket.base.errors import ExitCode, HocketError, exit_code
from hocket.base.interrupts import ended_by_signals
from hocket.base.standard_output import guarded_streams, result_stream
from hocket.cli.groups import group_of
from hocket.cli.quick_start import collect_rarely

__all__ = ["main"]

# As others end whose reader (`| head`) has seen enough: no check failed.
_UNREAD = 128 + signal.SIGPIPE

SUMMARY = "Collect, predict, synthesize, translate and run collective communication."


# Words of commands that are called otherwise now, for one release.
ALIASES: dict[tuple[str, ...], list[str]] = {
    ("collect", "launch"): ["collect"],
    ("collect", "mpi"): ["collect", "--mpi"],
}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs `hocket ARGV` and exits with a documented code (`hocket.base.errors.ExitCode`)."""
    collect_rarely()
    arguments = list(sys.argv[1:] if argv is None else argv)
    arguments[:2] = ALIASES.get(tuple(arguments[:2]), arguments[:2])
    with guarded_streams(), ended_by_signals():
        _run(arguments)


def _run(arguments: list[str]) -> None:
    try:
        try:
            group_of("", SUMMARY)(args=arguments, prog_name="hocket")
        finally:
            result_stream().flush()
    except BrokenPipeError:
        _leave(_UNREAD)
    except HocketError as error:
        typer.echo(f"error: {error}", err=True)
        _leave(exit_code(error))
    except MemoryError:
        typer.echo("error: out of memory; take fewer ranks, fewer chunks per rank, or a smaller size", err=True)
        _leave(ExitCode.BAD_INPUT)
    except KeyboardInterrupt:
        _leave(ExitCode.INTERRUPTED)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            _leave(_UNREAD)
        if left.code != ExitCode.INTERRUPTED:
            raise
        _leave(ExitCode.INTERRUPTED)


def _leave(code: int) -> NoReturn:
    """Ends the process; at once where a search that was left to itself runs on in a thread: the interpreter cannot be
    taken down under it."""
    if not any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        sys.exit(code)
    with suppress(OSError, HocketError):
        sys.stdout.flush()
    os._exit(code)
