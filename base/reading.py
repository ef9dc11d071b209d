"""Files as they are read: unpacked where they are gzip, and not begun where memory would not hold them."""

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from hocket.base.errors import FormatError
from hocket.base.memory import available_bytes
from hocket.base.units import format_bytes

__all__ = ["content_digest", "name_of", "opened", "read_bytes", "read_text", "require_room"]

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 22
_HARMLESS = 1 << 26  # so much memory is not worth asking how much there is
_REMEDY = "give a smaller one, or read it on a machine with more"
# Memory that a byte of a file takes once it is read and taken apart, about: objects of Python.
TEXT, JSON, XML, YAML = 8, 12, 24, 80


def name_of(path: object) -> str:
    """The name of a file, or of what else is known by a text. Raises FormatError for what is no name."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise FormatError(f"{path!r}: expected a name, a text or a path")
    return str(path)


@contextmanager
def opened(path: Path | str) -> Iterator[IO[bytes]]:
    """The file to be read from its begin, unpacked if it is gzip. Raises FormatError, naming it, when it cannot be read
    or is damaged."""
    try:
        with open(name_of(path), "rb") as file:
            is_gzip = file.peek(2)[:2] == _GZIP_MAGIC
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_gzip else file
    except EOFError as error:
        raise FormatError(
            f"{path}: {error}: it was cut off; copy or write it anew, or take what is there: gunzip -c {path} > PART"
        ) from error
    except (OSError, zlib.error) as error:
        raise FormatError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def require_room(path: Path | str, size_bytes: int, growth: float = 1, remedy: str = _REMEDY) -> None:
    """Raises FormatError, naming the file, where `size_bytes` of it, each of which takes `growth` bytes of memory, are
    more than could be had."""
    needed = int(size_bytes * growth)
    if needed > _HARMLESS and needed > (available := available_bytes()):
        raise FormatError(
            f"{path}: {format_bytes(size_bytes)} take about {format_bytes(needed)} of memory to read, and"
            f" {format_bytes(available)} are available: {remedy}"
        )


def read_bytes(path: Path | str, growth: float = 1, remedy: str = _REMEDY) -> bytes:
    """What the file holds, unpacked if it is gzip; `growth`: memory that a byte of it takes once it is taken apart.

    Raises FormatError, naming the file, when it cannot be read, or where memory would not hold it: of a plain file
    before it is read, of a packed one or a pipe as soon as it has grown too large.
    """
    with opened(path) as file:
        require_room(path, os.fstat(file.fileno()).st_size, growth, remedy)
        found, asked = bytearray(), _PIECE
        while piece := file.read(_PIECE):
            found += piece
            if len(found) > asked:  # more than the size that was seen, or unpacked
                require_room(path, len(found), growth, remedy)
                asked = len(found) * 5 // 4
        return bytes(found)


def read_text(path: Path | str, growth: float = TEXT, remedy: str = _REMEDY) -> str:
    """The file's text. Raises FormatError, naming the file, when it is absent, a folder, not UTF-8, or too large for
    memory, as `read_bytes` does."""
    try:
        text = read_bytes(path, growth, remedy).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def content_digest(text: str) -> str:
    """Tells the files that a text names, as they are now, from what they were before: the one of that name, those of
    the folder or those whose names begin so (traces), and those behind `=`, `:` and `,` (`all_reduce=ar.schedule`,
    `nccl:machine.xml,nodes=2`). Of a file the SHA-256, in hexadecimal; of others names, sizes and times. Empty where
    there is none."""
    files = [name for name in dict.fromkeys([text, *re.split("[:=,]", text)]) if os.path.isfile(name)]
    return " ".join([*(hashlib.sha256(read_bytes(name)).hexdigest() for name in files), _states(text)]).strip()


def _states(name: str) -> str:
    """Of the files in a folder, or that begin so, when they were written and how long they are."""
    folder, prefix = (name, "") if os.path.isdir(name) else (os.path.dirname(name) or ".", os.path.basename(name) + ".")
    if not os.path.isdir(folder):
        return ""
    with os.scandir(folder) as entries:
        files = [one for one in entries if one.name.startswith(prefix) and one.is_file()]
    states = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in files)
    return hashlib.sha256(repr(states).encode()).hexdigest() if states else ""
