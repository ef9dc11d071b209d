"""Compiles code that must fit the user's own headers (their PyTorch, their MPI) with their compiler, into a cache.

The cache is $HOCKET_CACHE, else $XDG_CACHE_HOME/hocket, else ~/.cache/hocket. What lies there is code that a job runs:
nobody but the user and root may be able to put it there.
"""

import fcntl
import hashlib
import os
import shlex
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hocket.base import processes
from hocket.base.cache import REMEDY, cache_folder
from hocket.base.errors import HocketError
from hocket.base.files import atomic_path, growing_file, make_folder, write_file

__all__ = ["build", "failure_of", "find_built"]

_LAST_LINES = 15  # of a compiler's complaints, with its first line


def build(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str, waits: bool = True) -> Path:
    """The shared library `name` made of `sources`, from the cache where it was built before.

    Of `sources` those that are headers (`*.hpp`) are only looked at: a change of any of them, of `compiler_command`
    (compiler and all flags; libraries too, sources follow it) or of `key` (what else decides the result: the version
    of the foreign headers) makes another library. Processes that ask at once wait for the one that builds; one that
    does not wait returns where the library will be.

    Raises HocketError, with what the compiler said, when it is absent or fails, which `failure_of` tells from then on,
    or the cache cannot be written or is open to others.
    """
    library = _library_path(sources, compiler_command, key, name)
    if _is_built(library):
        return library
    lock_path = make_folder(library.parent, 0o700) / f"{name}.lock"
    _check_owner(library.parent)
    with growing_file(lock_path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return library
        if not _is_built(library):
            for half in library.parent.glob(f".{library.name}.*"):  # of a build that was killed
                half.unlink(missing_ok=True)
            units = [str(source) for source in sources if source.suffix != ".hpp"]
            try:
                with atomic_path(library) as temporary:
                    _compile([*compiler_command, *units, "-o", str(temporary)], name)
                    temporary.chmod(0o755)
            except HocketError as error:
                write_file(_failure_path(library), str(error).partition("\n")[0])
                raise
        _failure_path(library).unlink(missing_ok=True)
    return library


def failure_of(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> str:
    """Why the last `build` of the same failed, in a line; "" where none did. Raises HocketError where the cache cannot
    be read."""
    path = _failure_path(_library_path(sources, compiler_command, key, name))
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise HocketError(f"{path}: {error.strerror}; {REMEDY}") from error


def _failure_path(library: Path) -> Path:
    return library.with_suffix(".failed")


def find_built(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> Path | None:
    """What `build` would return, None where it would have to compile.

    Raises HocketError where the cache cannot be read or is open to others.
    """
    library = _library_path(sources, compiler_command, key, name)
    return library if _is_built(library) else None


def _is_built(library: Path) -> bool:
    try:
        if not library.is_file():
            return False
    except OSError as error:
        raise HocketError(f"{library}: {error.strerror}; {REMEDY}") from error
    _check_owner(library.parent)
    _check_owner(library)
    return True


def _check_owner(path: Path) -> None:
    """Raises HocketError where another user than root could have made or changed what lies there."""
    try:
        status = path.stat()
    except OSError as error:
        raise HocketError(f"{path}: {error.strerror}; {REMEDY}") from error
    if status.st_uid not in (os.getuid(), 0):
        raise HocketError(f"{path}: code of user {status.st_uid}, which is not loaded; {REMEDY}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise HocketError(f"{path}: others may write there, so it is not loaded; chmod go-w, or {REMEDY}")


def _library_path(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> Path:
    digest = hashlib.sha256("\0".join([*compiler_command, key]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    # resolved: a link in the way could lead elsewhere after the check
    return cache_folder().resolve() / f"{name}-{digest.hexdigest()[:16]}.so"


def _compile(command: Sequence[str], name: str) -> None:
    try:
        finished = processes.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise HocketError(
            f"{command[0]}: cannot be run to build {name}: {error.strerror}; a C++20 compiler is needed"
        ) from error
    if finished.returncode != 0:
        said = (finished.stdout + finished.stderr).splitlines()
        if len(said) > _LAST_LINES:
            said = [said[0], "...", *said[-_LAST_LINES:]]
        raise HocketError(f"{name} could not be built by: {shlex.join(command)}", *said)
