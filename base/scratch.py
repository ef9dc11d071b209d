"""Folders for files that nobody needs afterwards, which do not outlive their process by long; what is left in them for
other processes."""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hocket.base.sinks import unwritable

__all__ = ["hand_over", "scratch_folder", "wait_for_owner"]

# A lock tells of the processes of one machine: others may share the file system without sharing its locks.
_LOCK = f".held-on-{os.uname().nodename}"


@contextmanager
def scratch_folder(purpose: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder `hocket-PURPOSE-...`, for this user alone, in the temporary directory or `parent`, gone when the block
    ends. One whose process was killed is removed by the next process that makes one there. Raises OSError where none
    can be made."""
    parent = parent or Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"hocket-{purpose}-", dir=parent))
    try:
        with open(folder / f"{_LOCK}.new", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(lock.name, folder / _LOCK)  # seen only when it is held
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_owner(folder: Path) -> None:
    """Returns when the process that made the scratch folder is gone, or gives it up, however it ends. Of this machine
    alone."""
    with suppress(FileNotFoundError), open(folder / _LOCK, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)


def hand_over(path: Path, content: str | bytes) -> None:
    """Leaves a file for other processes, who find it whole or not at all: at once, within `together` too. Its folder
    must be there: one that is gone has no readers. Raises HocketError, naming the file, when it cannot be written."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise unwritable(path, error) from error


def _remove_abandoned(parent: Path) -> None:
    """Removes those of this user whose lock nobody holds."""
    for path in parent.glob(f"hocket-*/{_LOCK}"):
        with suppress(OSError), open(os.open(path, os.O_RDWR | os.O_NOFOLLOW), "r+b") as lock:
            if {os.fstat(lock.fileno()).st_uid, path.parent.lstat().st_uid} == {os.getuid()}:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
