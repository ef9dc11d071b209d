"""Files that are whole or absent, under every kind of name.

What is written to a regular file goes into a temporary beside it that takes its name when it is complete. A link stays
and what it leads to is replaced, with its mode. Devices, pipes and standard output (`-`) are written to.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from errno import EACCES, EISDIR
from pathlib import Path
from typing import IO, Any

from hocket.base.errors import HocketError
from hocket.base.places import Descriptor, Replacement, Transaction, place_of
from hocket.base.sinks import Sink, sink_of, text_to, unwritable
from hocket.base.standard_output import is_standard_output, result_stream

__all__ = [
    "atomic_folder",
    "atomic_path",
    "atomic_write",
    "copy_file",
    "growing_file",
    "growing_lines",
    "is_streamed",
    "make_folder",
    "put_in_place",
    "require_no_stream",
    "require_place",
    "together",
    "write_file",
    "write_json",
]

_transaction: ContextVar[Transaction | None] = ContextVar("transaction", default=None)


@contextmanager
def together() -> Iterator[Transaction]:
    """What is written inside takes its names when the block ends well, all of it or nothing: until then the names lead
    to what was there before. Within another such block it is part of that."""
    outer = _transaction.get()
    if outer is not None:
        yield outer
        return
    transaction = Transaction()
    token = _transaction.set(transaction)
    try:
        yield transaction
        transaction.commit()
    finally:
        _transaction.reset(token)
        transaction.clear()


def make_folder(path: Path | str, mode: int = 0o777) -> Path:
    """The folder, made with all above it if absent, itself with `mode` less the umask. Raises HocketError, naming it,
    when it cannot be made."""
    require_no_stream(path)
    path = Path(path)
    try:
        with together() as transaction:
            transaction.make_folder(path, mode)
    except OSError as error:
        raise HocketError(f"{path}: cannot be made: {error.strerror}; choose another folder") from error
    return path


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """An empty temporary file in the same folder (made if absent), to be written by its name, that takes the name
    `path` when the block ends well. What goes to a device, a pipe or standard output is copied there.

    Raises HocketError, naming the file, when it cannot be written: a folder without permission, a full disk.
    """
    with together() as transaction, _named(path):
        place = _place(path)
        if isinstance(place, Path) and not _is_special(place):
            replacement, sink = _begin(transaction, place, path)
            sink.close()
            yield replacement.temporary
            transaction.finish(replacement)
            return
        with tempfile.NamedTemporaryFile(prefix="hocket-") as file:
            yield Path(file.name)
            with open(file.name, "rb") as written, atomic_write(path, "wb") as sent:
                shutil.copyfileobj(written, sent)


@contextmanager
def atomic_write(path: Path | str, mode: str = "w", permissions: int = 0o666) -> Iterator[IO[Any]]:
    """Opens a file for writing (`w` text as UTF-8, or `wb`) that appears under its name only when complete; its folder
    is made if absent, a new file has the `permissions`, less the umask. Raises HocketError, naming the file, when it
    cannot be written.
    """
    if is_standard_output(path):
        stream = result_stream()
        stream.flush()
        if "b" in mode and not hasattr(stream, "buffer"):
            raise HocketError("standard output takes text alone here: name a file")
        yield stream.buffer if "b" in mode else stream
        stream.flush()
        return
    with together() as transaction:
        with _named(path):
            place, replacement = _place(path), None
            if isinstance(place, Descriptor):
                sink = Sink(os.dup(place.number), path)
            elif _is_special(place):
                sink = sink_of(place, 0, path)
            else:
                replacement, sink = _begin(transaction, place, path, permissions)
        with sink.buffered() if "b" in mode else text_to(sink.buffered()) as file:
            yield file
        if replacement is not None:
            with _named(path):
                transaction.finish(replacement)


def write_file(path: Path | str, content: str | bytes, permissions: int = 0o666) -> None:
    """Writes a text, as UTF-8, or bytes. Raises HocketError as `atomic_write` does."""
    with atomic_write(path, "w" if isinstance(content, str) else "wb", permissions) as file:
        file.write(content)


def copy_file(source: Path, path: Path | str) -> None:
    """Writes the content of another file. Raises HocketError as `atomic_write` does."""
    with open(source, "rb") as file, atomic_write(path, "wb") as copy:
        shutil.copyfileobj(file, copy)


def growing_file(path: Path | None) -> IO[bytes]:
    """A file that is added to while work goes on, and read by what goes on with it, made if absent, its folder too; or
    (None) one without a name that ends with this process. Raises HocketError, naming it, when it cannot be written."""
    try:
        if path is None:
            return tempfile.TemporaryFile()
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a+b")
    except OSError as error:
        raise unwritable(path or "a temporary file", error) from error


@contextmanager
def growing_lines(path: Path | str | None) -> Iterator[Callable[[str], None]]:
    """What writes a line at once, for those who read meanwhile: to a file that is emptied first, standard output (`-`),
    or nowhere (None). Raises HocketError, naming the file, when it cannot be written."""
    if path is None:
        yield lambda line: None
    elif is_standard_output(path):

        def say(line: str) -> None:
            result_stream().write(f"{line}\n")
            result_stream().flush()

        yield say
    else:
        with growing_file(Path(path)) as file:
            file.truncate(0)

            def add(line: str) -> None:
                file.write(f"{line}\n".encode())
                file.flush()

            yield add


def put_in_place(written: Path, path: Path | str) -> None:
    """Gives a complete file, which lies on the same file system, the name `path`; where that fails it stays
    where it is. Raises HocketError as `atomic_write` does."""
    with together() as transaction, _named(path):
        place = _place(path)
        if not isinstance(place, Path) or _is_special(place):
            copy_file(written, path)
            return
        transaction.make_folder(place.parent)
        replacement = Replacement(written, place, kept=True)
        transaction.replacements.append(replacement)
        transaction.finish(replacement)


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
    require_no_stream(path)
    with together() as transaction, _named(path):
        place = Path(os.path.realpath(path))
        transaction.make_folder(place.parent)
        replacement = transaction.begin(place)
        replacement.temporary.mkdir()
        yield replacement.temporary
        transaction.finish(replacement)


def require_place(path: Path | str) -> None:
    """Raises HocketError, naming the file, where nothing can be written by that name: before any work whose result
    would be lost. Folders above it are made when it is written."""
    with _named(path):
        place = _place(path)
    if not isinstance(place, Path) or _is_special(place):
        return
    above = place.absolute().parent  # where its temporary is made
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise HocketError(
            f"{path}: cannot be written: {above} is no folder that may be written to; choose another place"
        )


def require_no_stream(path: Path | str) -> None:
    """Raises HocketError where a folder is to be and standard output is named."""
    if is_standard_output(path):
        raise HocketError(f"{path}: standard output is no folder; several files are written: name a folder for them")


def is_streamed(path: Path | str) -> bool:
    """Whether what is written to the path goes to standard output, a device or a pipe: no file takes that name."""
    with _named(path):
        place = Descriptor(1) if is_standard_output(path) else place_of(Path(path))
    return isinstance(place, Descriptor) or _is_special(place)


@contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """What the system says of a failure, as an error that names the path; that a pipe has no reader stays as it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error


def _place(path: Path | str) -> Path | Descriptor:
    """Where the path leads. Raises OSError for a folder, and a file that may not be written."""
    if is_standard_output(path):
        return Descriptor(1)
    place = place_of(Path(path))
    if isinstance(place, Path) and place.exists():
        if place.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if not os.access(place, os.W_OK, effective_ids=True):
            raise PermissionError(EACCES, os.strerror(EACCES))
    return place


def _is_special(place: Path) -> bool:
    """Whether a device, pipe or socket stands there."""
    return place.exists() and not (place.is_file() or place.is_dir())


def _begin(
    transaction: Transaction, place: Path, path: Path | str, permissions: int = 0o666
) -> tuple[Replacement, Sink]:
    transaction.make_folder(place.parent)
    replacement = transaction.begin(place)
    return replacement, sink_of(replacement.temporary, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, path, permissions)
