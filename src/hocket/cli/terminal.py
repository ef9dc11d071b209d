"""The terminal that a command talks to: results on standard output, remarks and progress on standard error."""

import sys
import time

import typer

from hocket.api.result import Result

__all__ = ["Terminal"]

_SECONDS_BETWEEN = 0.2


class Terminal:
    """Shows progress and results."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._shown = -1.0
        self._counting = False

    def say(self, line: str) -> None:
        self._end_count()
        typer.echo(line)

    def note(self, line: str) -> None:
        self._end_count()
        typer.echo(line, err=True)

    def count(self, done: int, of: int, what: str) -> None:
        now = time.perf_counter()
        if sys.stderr.isatty() and (now - self._shown > _SECONDS_BETWEEN or done == of):
            self._shown, self._counting = now, done != of
            typer.echo(f"\r{done} of {of} {what}, {now - self._begin:.0f} s", nl=done == of, err=True)

    def show(self, result: Result) -> None:
        """What a request came to."""
        if text := result.summary():
            self.say(text)
        for warning in result.warnings:
            self.note(warning)

    def _end_count(self) -> None:
        if self._counting:
            self._counting = False
            typer.echo("", err=True)
