"""What lies in a collection's folder: streams as they are recorded, and what the merge makes of them."""

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["merged_files", "operators_path", "stream_path", "stream_paths"]

_MERGED = ("trace.*.et", "comm_groups.json", "summary.txt", "summary.json")


def stream_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s stream lies."""
    return Path(folder) / "stream" / f"rank{rank}.stream"


def operators_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s profile lies, if there is one."""
    return Path(folder) / "ops" / f"rank{rank}.json"


def stream_paths(folder: Path | str) -> list[Path]:
    """The streams there are."""
    paths = stream_path(folder, 0).parent.glob("rank*.stream")
    return [path for path in paths if re.fullmatch(r"rank\d+", path.stem)]


def merged_files(folder: Path | str) -> Iterator[Path]:
    """The traces and summaries of an earlier merge: stale as soon as another job records into the folder."""
    return (path for pattern in _MERGED for path in Path(folder).glob(pattern))
