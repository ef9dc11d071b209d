"""Standard output, where a path says `-`: then results go there alone, and what is said to people to standard error."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from hocket.base.errors import HocketError
from hocket.base.sinks import Sink

__all__ = ["guarded_streams", "is_standard_output", "keep_for_results", "result_stream"]

_NAMES = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_kept: TextIO | None = None


def is_standard_output(path: Path | str | None) -> bool:
    """Whether what is written to the path goes to standard output: `-`, and the system's own names of it."""
    return str(path) in _NAMES


def keep_for_results() -> None:
    """From here on what is printed goes to standard error; `result_stream` is standard output."""
    global _kept
    if _kept is None:
        _kept, sys.stdout = sys.stdout, sys.stderr


def result_stream() -> TextIO:
    """Where what is written to the path `-` goes."""
    return _kept or sys.stdout


@contextmanager
def guarded_streams() -> Iterator[None]:
    """While inside, a standard output that is full or closed is a HocketError that says so when it is written to or
    flushed (`result_stream().flush()`), and what cannot be said on standard error is lost. What the streams cannot
    take at the end is dropped, and `keep_for_results` ends."""
    global _kept
    _hold_descriptors()
    before = sys.stdout, sys.stderr
    # What stands in for the streams (a test's, a notebook's) is left alone.
    if sys.stdout in (None, sys.__stdout__):
        sys.stdout = _text(sys.stdout, Sink(1, "standard output", closefd=False))
    if sys.stderr in (None, sys.__stderr__):
        sys.stderr = _text(sys.stderr, _Lossy(2, "standard error", closefd=False))
    ours = {sys.stdout, sys.stderr}.difference(before)
    try:
        yield
    finally:
        for stream in ours:
            try:
                stream.flush()
            except (OSError, HocketError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        _kept, (sys.stdout, sys.stderr) = None, before


def _hold_descriptors() -> None:
    """Closed ones would become those of the next files that are opened, and what is printed would go there. In their
    place something that cannot be written to either."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _text(stream: Any, sink: Sink) -> TextIOWrapper:
    encoding, errors = (stream.encoding, stream.errors) if stream else ("utf-8", "backslashreplace")
    line_buffering = sink.isatty() or sink.fileno() == 2
    return TextIOWrapper(sink.buffered(), encoding, errors, line_buffering=line_buffering)


class _Lossy(Sink):
    """Nobody could be told that it cannot be written to."""

    def write(self, data: Any, /) -> int:
        with suppress(Exception):
            return super().write(data)
        return len(data)
