"""Files that are whole or absent: written beside their name, then renamed."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hocket.base.errors import FormatError, HocketError

__all__ = ["atomic_folder", "atomic_path", "atomic_write", "make_folder", "read_text", "require_place", "write_json"]


def make_folder(path: Path | str, mode: int = 0o777) -> Path:
    """The folder, made with all above it if absent, itself with `mode` less the umask. Raises HocketError, naming it,
    when it cannot be made."""
    path = Path(path)
    try:
        path.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise HocketError(f"{path}: cannot be made: {error.strerror}; choose another folder") from error
    return path


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """A temporary path in the same folder (made if absent) that takes the name `path` when the block ends well.

    Raises HocketError, naming the file, when it cannot be written: a folder without permission, a full disk.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise HocketError(f"{path}: cannot be written: {error.strerror}; choose another place") from error


@contextmanager
def atomic_write(path: Path | str, mode: str = "w") -> Iterator[IO[Any]]:
    """Opens a file for writing (`w` text as UTF-8, or `wb`) that appears under its name only when complete."""
    with atomic_path(path) as temporary, open(temporary, mode, encoding=None if "b" in mode else "utf-8") as file:
        yield file


def write_json(path: Path | str, content: Any) -> None:
    """Writes plain values as JSON that people can read, too. Raises HocketError as `atomic_write` does."""
    with atomic_write(path) as file:
        json.dump(content, file, indent=1)
        file.write("\n")


@contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name, in place of a folder that has it, when the block ends well.

    Raises HocketError, naming the folder, when it cannot be written.
    """
    path = Path(path).resolve()
    temporary, old = (path.with_name(f".{path.name}.{os.getpid()}.{suffix}") for suffix in ("part", "old"))
    try:
        temporary.mkdir(parents=True)
        try:
            yield temporary
            if path.exists():
                os.replace(path, old)
            os.replace(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise HocketError(f"{path}: cannot be written: {error.strerror}; choose another place") from error
    shutil.rmtree(old, ignore_errors=True)


def require_place(path: Path | str) -> None:
    """Raises HocketError, naming the file, where nothing can be written by that name: before any work whose result
    would be lost. Folders above it are made when it is written."""
    above = Path(path).absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise HocketError(
            f"{path}: cannot be written: {above} is no folder that may be written to; choose another place"
        )


def read_text(path: Path | str) -> str:
    """The file's text. Raises FormatError, naming the file, when it is absent, a folder or not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
