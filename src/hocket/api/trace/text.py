"""Prints every field of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.trace.request import TraceText
from hocket.base.files import atomic_write
from hocket.chakra.messages import read_messages, to_json

__all__ = ["TraceLines", "perform"]


def perform(request: TraceText, progress: Progress) -> TraceLines:
    """Writes the lines, or says them one by one: there may be more than memory holds."""
    result = TraceLines(request)
    if request.output is None:
        for line in result.lines():
            progress.say(line)
    else:
        with atomic_write(request.output) as file:
            file.writelines(f"{line}\n" for line in result.lines())
    return result


@dataclass(frozen=True, eq=False, repr=False)
class TraceLines(Result):
    """A trace as lines of JSON."""

    request: TraceText

    def lines(self) -> Iterator[str]:
        """The file's metadata, then one node a line; read again each time."""
        return map(to_json, read_messages(self.request.file, self.request.schema))

    def headline(self) -> str:
        return f"{self.request.file} as lines of JSON" + (f" in {self.request.output}" if self.request.output else "")

    def summary(self) -> str:
        return ""
