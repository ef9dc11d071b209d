"""The files that an importer is given."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import opened

__all__ = ["MALFORMED", "files_in", "head_of"]

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


def head_of(path: Path) -> bytes:
    """Its first bytes, enough to tell its format. Raises FormatError, naming the file, when it cannot be read."""
    with opened(path) as file:
        return file.read(_HEAD)
