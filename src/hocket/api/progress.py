"""What long work tells meanwhile: nothing in Python unless asked for, lines and counters on a terminal."""

from typing import Protocol

__all__ = ["SILENT", "Progress"]


class Progress(Protocol):
    """Hears of work that goes on."""

    def say(self, line: str) -> None:
        """A line of the result that is ready before the rest."""

    def note(self, line: str) -> None:
        """A remark that is no part of the result."""

    def count(self, done: int, of: int, what: str) -> None:
        """So many of all are done."""

    def status(self, line: str) -> None:
        """How it stands now, in a line that the next one replaces."""


class _Silent:
    def say(self, line: str) -> None:
        pass

    def note(self, line: str) -> None:
        pass

    def count(self, done: int, of: int, what: str) -> None:
        pass

    def status(self, line: str) -> None:
        pass


SILENT: Progress = _Silent()
