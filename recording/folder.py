"""What lies in a job's folder: streams as they are recorded, and what the merge makes of them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.job_folders import STREAMS
from hocket.recording.segments import place_among_segments, stream_of

__all__ = [
    "make_folder",
    "merged_files",
    "nccl_folder",
    "nccl_profiles",
    "no_streams",
    "operators_path",
    "stream_files",
    "stream_path",
    "stream_paths",
]

_STREAM = re.compile(r"rank\d+")
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
    """Where rank `rank`'s stream lies in a job's folder."""
    return Path(folder) / STREAMS / f"rank{rank}.stream"


def operators_path(folder: Path | str, rank: int) -> Path:
    """Where rank `rank`'s profile lies, if there is one."""
    return Path(folder) / "ops" / f"rank{rank}.json"


def nccl_folder(root: Path | str) -> Path:
    """Where, in the folder of jobs, NCCL's profiler plugin leaves the profiles of the ranks, those of each launch in a
    folder of their own, unless the job was told another place."""
    return Path(root) / "nccl"


def nccl_profiles(folder: Path, process: int) -> list[Path]:
    """The files that the plugin in a process has made there: `<host>.<process>.<start>.ncclprofile`."""
    return sorted(folder.glob(f"*.{process}.*.ncclprofile"))


def stream_paths(folder: Path | str) -> list[Path]:
    """The streams in which something was written: `rank3.stream`, also where its segments are the files."""
    return [*stream_files(folder)]


def stream_files(folder: Path | str) -> dict[Path, list[Path]]:
    """The same with the files of each, as `segment_paths` has them: the folder is listed once, and may have thousands
    of streams."""
    found: dict[Path, list[Path]] = {}
    for path in stream_path(folder, 0).parent.glob("rank*.stream"):
        stream = stream_of(path)
        if _STREAM.fullmatch(stream.stem):
            found.setdefault(stream, []).append(path)
    in_order = {stream: sorted(found[stream], key=place_among_segments) for stream in sorted(found)}
    return {stream: files for stream, files in in_order.items() if any(map(_is_begun, files))}


def no_streams(folder: Path | str) -> FormatError:
    """What to raise where a folder has no streams."""
    folder = Path(folder)
    if folder.is_dir():
        return FormatError(f"{folder / STREAMS}: no rank*.stream: is this the folder of a collection?")
    what = "is a file" if folder.exists() else "no such folder"
    return FormatError(f"{folder}: {what}: name the folder that `hocket collect --out` recorded into")


def _is_begun(path: Path) -> bool:
    """Whether it has a line, not only the zero bytes that are there when a rank was killed early."""
    with suppress(FileNotFoundError), path.open("rb") as file:  # a cap may have dropped it this moment
        return bool(file.readline().strip(b"\0\n"))
    return False


def merged_files(folder: Path | str) -> Iterator[Path]:
    """The traces and summaries of an earlier merge."""
    return (path for pattern in _MERGED for path in Path(folder).glob(pattern))
