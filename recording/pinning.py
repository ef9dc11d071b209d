"""Keeps segments that a cap in bytes would drop: as second names of the files, in a folder of their own."""

import itertools
import os
from contextlib import suppress
from pathlib import Path

from hocket.base.files import atomic_write
from hocket.recording.segments import segment_number, segment_paths

__all__ = ["free_window", "pin", "window_folder"]


def window_folder(folder: Path, name: str) -> Path:
    """Where the window `name` of a collection is kept, and merged into."""
    return folder / "windows" / name


def pin(folder: Path, stream: Path, name: str, *, growing: bool = False) -> int:
    """Keeps all segments of a stream for window `name`; returns how many. They take no space of their own until the
    stream drops them; the last, where the job is `growing` it, is copied as it is now. Raises OSError."""
    target = window_folder(folder, name) / stream.parent.name
    target.mkdir(parents=True, exist_ok=True)
    kept = 0
    segments = [path for path in segment_paths(stream) if segment_number(path) is not None]
    for path in segments:
        with suppress(FileExistsError, FileNotFoundError):  # pinned before; dropped this moment
            if growing and path == segments[-1]:
                _copy_lines(path, target / path.name)
            else:
                os.link(path, target / path.name)
            kept += 1
    return kept


def _copy_lines(path: Path, target: Path) -> None:
    """What is whole in a file that somebody writes: behind its last line there are zero bytes."""
    written = path.read_bytes().rstrip(b"\0")
    with atomic_write(target, "wb") as file:
        file.write(written[: written.rfind(b"\n") + 1])


def free_window(folder: Path, prefix: str) -> str:
    """A name for a window that is not taken: `now1`, `now2`."""
    return next(name for n in itertools.count(1) if not window_folder(folder, name := f"{prefix}{n}").exists())
