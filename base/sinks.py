"""Files that say which they are when they cannot be written."""

import io
import os
import select
from typing import Any

from hocket.base.errors import HocketError

__all__ = ["Sink", "text_to", "unwritable"]

_BUFFER = 1 << 18


def unwritable(place: object, error: OSError) -> HocketError:
    """The error of what cannot be written."""
    return HocketError(f"{place}: cannot be written: {error.strerror or error}; choose another place")


class Sink(io.FileIO):
    """An open descriptor to be written to, called `place`: what fails is a HocketError that names it. That nobody reads
    a pipe any more stays a BrokenPipeError."""

    def __init__(self, descriptor: int, place: object, closefd: bool = True) -> None:
        super().__init__(descriptor, "wb", closefd)
        self.place = place

    def write(self, data: Any, /) -> int:
        try:
            while (written := super().write(data)) is None:  # a terminal that another program left non-blocking
                select.select([], [self], [])
            return written
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(self.place, error) from error

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:
            raise unwritable(self.place, error) from error

    def buffered(self) -> io.BufferedWriter:
        return io.BufferedWriter(self, _BUFFER)


def text_to(file: io.BufferedWriter) -> io.TextIOWrapper:
    """As UTF-8. Bytes of file names that are none are spelled out."""
    return io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")


def sink_of(path: str | os.PathLike[str], flags: int, place: object, mode: int = 0o666) -> Sink:
    """The file, opened to be written to. Raises HocketError, naming it, when it cannot be."""
    try:
        return Sink(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY | flags, mode), place)
    except OSError as error:
        raise unwritable(place, error) from error
