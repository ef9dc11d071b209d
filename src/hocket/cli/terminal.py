"""The terminal that a command talks to: results on standard output, remarks and progress on standard error."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

import typer

from hocket.api.result import Result
from hocket.base.text import printable, printable_lines

__all__ = ["Terminal"]

_SECONDS_BETWEEN = 0.2
_QUIET_S = 2.0
_SECONDS_TO_PACE = 1.0  # before which a pace says little


class Terminal:
    """Shows progress and results."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._shown = -1.0
        self._replacing = False
        self._first: tuple[float, int, str] | None = None

    def say(self, line: str) -> None:
        self._end_line()
        typer.echo(_shown(line))

    def note(self, line: str) -> None:
        self._end_line()
        typer.echo(_shown(line), err=True)

    def count(self, done: int, of: int, what: str) -> None:
        self._replace(f"{done} of {of} {what}{self._pace(done, of, what)}", last=done == of)

    def _pace(self, done: int, of: int, what: str) -> str:
        """How many a second since the first count of these, and how long the rest will take at that pace."""
        now = time.perf_counter()
        if self._first is None or self._first[2] != what:
            self._first = now, done, what
        begin, before, _ = self._first
        if done <= before or now - begin < _SECONDS_TO_PACE:
            return ""
        pace = (done - before) / (now - begin)
        left = f", {_duration((of - done) / pace)} left" if done < of else ""
        return f", {pace:,.0f} per second{left}" if pace >= 1 else f", one in {1 / pace:.0f} s{left}"

    def status(self, line: str) -> None:
        self._replace(line)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """While inside, a terminal is told every second what goes on, unless it was told more; other streams are told
        nothing, and so is one whose work ends within two seconds."""
        if not sys.stderr.isatty():
            yield
            return
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(_QUIET_S / 2):
                if time.perf_counter() - max(self._begin, self._shown) >= _QUIET_S / 2 and self._has_begun():
                    self._replace(what)

        thread = threading.Thread(target=tell, name="hocket-terminal", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            if self._replacing:
                self._replacing = False
                typer.echo("\r\x1b[K", nl=False, err=True)

    def _has_begun(self) -> bool:
        return time.perf_counter() - self._begin >= _QUIET_S

    def show(self, result: Result) -> None:
        """What a request came to."""
        if text := result.rest():
            self.say(text)
        for warning in result.warnings:
            self.note(warning)

    def _replace(self, line: str, last: bool = False) -> None:
        """A line in the place of the one before, unless that is too new to have been read."""
        now = time.perf_counter()
        if sys.stderr.isatty() and (last or now - self._shown > _SECONDS_BETWEEN):
            self._shown, self._replacing = now, not last
            text = f"{printable(line)}, {now - self._begin:.0f} s"
            typer.echo(f"\r\x1b[K{text[: get_terminal_size().columns - 1]}", nl=last, err=True)

    def _end_line(self) -> None:
        if self._replacing:
            self._replacing = False
            typer.echo("", err=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _shown(text: str) -> str:
    return printable_lines(text.split("\n"))
