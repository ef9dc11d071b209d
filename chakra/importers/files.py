"""The files that an importer is given."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec

from hocket.base.errors import FormatError

__all__ = ["MALFORMED", "files_in", "head_of", "opened", "read_bytes"]

_GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 1 << 16
# What msgspec raises for bytes that are no JSON of the wanted shape.
MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def files_in(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and those that lie in the folders, in the order of their names.

    Raises FormatError for a path that does not exist or a folder without files.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
            if not inside:
                raise FormatError(f"{path}: no files in this folder")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise FormatError(f"{path}: no such file or folder")
    return list(dict.fromkeys(files))


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file for reading, unpacked when it is gzip. Raises FormatError, naming the file, when it cannot be read."""
    try:
        with open(path, "rb") as file:
            zipped = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def read_bytes(path: Path, size: int = -1) -> bytes:
    """Its first `size` bytes, or all. Raises FormatError, naming the file, when it cannot be read."""
    with opened(path) as file:
        return file.read(size)


def head_of(path: Path) -> bytes:
    """Its first bytes, enough to tell its format."""
    return read_bytes(path, _HEAD)
