"""Compiles code that must fit the user's own headers (their PyTorch, their MPI) with their compiler, into a cache.

The cache is $HOCKET_CACHE, else $XDG_CACHE_HOME/hocket, else ~/.cache/hocket.
"""

import fcntl
import hashlib
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hocket.core.errors import HocketError
from hocket.core.files import atomic_path, make_folder

__all__ = ["build", "cache_folder", "find_built"]

_LAST_LINES = 15  # of a compiler's complaints, with its first line


def cache_folder() -> Path:
    """Where built libraries are kept; not made yet."""
    if chosen := os.environ.get("HOCKET_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "hocket").absolute()


def build(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> Path:
    """The shared library `name` made of `sources`, from the cache where it was built before.

    Of `sources` those that are headers (`*.hpp`) are only looked at: a change of any of them, of `compiler_command`
    (compiler and all flags; libraries too, sources follow it) or of `key` (what else decides the result: the version
    of the foreign headers) makes another library. Processes that ask at once wait for the one that builds.

    Raises HocketError, with what the compiler said, when it is absent or fails, or the cache cannot be written.
    """
    library = _library_path(sources, compiler_command, key, name)
    if library.is_file():
        return library
    lock_path = make_folder(library.parent) / f"{name}.lock"
    try:
        lock = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HocketError(f"{lock_path}: {error.strerror}; set HOCKET_CACHE to a folder you may write to") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.is_file():
            with atomic_path(library) as temporary:
                units = [str(source) for source in sources if source.suffix != ".hpp"]
                _compile([*compiler_command, *units, "-o", str(temporary)], name)
    finally:
        os.close(lock)
    return library


def find_built(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> Path | None:
    """What `build` would return, None where it would have to compile."""
    library = _library_path(sources, compiler_command, key, name)
    return library if library.is_file() else None


def _library_path(sources: Sequence[Path], compiler_command: Sequence[str], key: str, name: str) -> Path:
    digest = hashlib.sha256("\0".join([*compiler_command, key]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return cache_folder() / f"{name}-{digest.hexdigest()[:16]}.so"


def _compile(command: Sequence[str], name: str) -> None:
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise HocketError(
            f"{command[0]}: cannot be run to build {name}: {error.strerror}; a C++20 compiler is needed"
        ) from error
    if finished.returncode != 0:
        said = (finished.stdout + finished.stderr).splitlines()
        if len(said) > _LAST_LINES:
            said = [said[0], "...", *said[-_LAST_LINES:]]
        raise HocketError("\n".join([f"{name} could not be built by: {shlex.join(command)}", *said]))
