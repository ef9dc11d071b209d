"""What lies in a collection's folder: streams as they are recorded, and what the merge makes of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from hocket.base.errors import FormatError

__all__ = ["make_folder", "merged_files", "operators_path", "set_aside", "stream_path", "stream_paths"]

_MERGED = ("trace.*.et", "comm_groups.json", "summary.txt", "summary.json")


def make_folder(folder: Path | str) -> Path:
    """The folder as an absolute path, made if it is not there. Raises FormatError when it cannot be."""
    path = Path(folder).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"{folder}: cannot collect into this folder: {error.strerror}") from error
    return path


def stream_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s stream lies."""
    return Path(folder) / "stream" / f"rank{rank}.stream"


def operators_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s profile lies, if there is one."""
    return Path(folder) / "ops" / f"rank{rank}.json"


def stream_paths(folder: Path | str) -> list[Path]:
    """The streams in which something was written."""
    paths = stream_path(folder, 0).parent.glob("rank*.stream")
    return [path for path in paths if re.fullmatch(r"rank\d+", path.stem) and _first_line(path)]


def _first_line(path: Path) -> str:
    """Without the zero bytes that are there when a rank was killed early."""
    with path.open("rb") as file:
        return file.readline().decode(errors="replace").strip("\0")


def merged_files(folder: Path | str) -> Iterator[Path]:
    """The traces and summaries of an earlier merge: stale as soon as another job records into the folder."""
    return (path for pattern in _MERGED for path in Path(folder).glob(pattern))


def set_aside(folder: Path | str, rank: int) -> Path | None:
    """Moves what an earlier job left of this rank, its traces too when that is rank 0, to `earlier/<job>` within the
    folder, where it can be merged as here. Returns that folder; None when there was nothing."""
    folder = Path(folder)
    mine = [path for path in (stream_path(folder, rank), operators_path(folder, rank)) if path.exists()]
    if rank == 0:
        mine += merged_files(folder)
    if not mine:
        return None
    earlier = folder / "earlier" / _job_in(stream_path(folder, rank))
    for path in mine:
        target = earlier / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    return earlier


def _job_in(stream: Path) -> str:
    """The job that wrote a stream, as a name for a folder."""
    try:
        return re.sub(r"[^\w-]", "-", json.loads(_first_line(stream))["job"])
    except (OSError, ValueError, KeyError, TypeError):
        return "unknown"
