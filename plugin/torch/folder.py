"""What lies in a collection's folder: streams as they are recorded, and what the merge makes of them."""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["merged_files", "stream_path"]

_MERGED = ("trace.*.et", "comm_groups.json", "summary.txt", "summary.json")


def stream_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s stream lies."""
    return Path(folder) / "stream" / f"rank{rank}.jsonl"


def merged_files(folder: Path | str) -> Iterator[Path]:
    """The traces and summaries of an earlier merge: stale as soon as another job records into the folder."""
    return (path for pattern in _MERGED for path in Path(folder).glob(pattern))
