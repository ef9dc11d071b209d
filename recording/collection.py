"""The parts of a job's ranks: read from streams, or found where a merge before left them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.recording.alignment import Shift
from hocket.recording.calls import Group
from hocket.recording.common import common_parts
from hocket.recording.folder import no_streams, stream_files
from hocket.recording.parts.head import PartSource
from hocket.recording.parts.part import Part, PartSection, open_part
from hocket.recording.parts.sources import source_of
from hocket.recording.parts.writing import write_part
from hocket.recording.pinning import window_folder
from hocket.recording.recording import Recording, read_recording
from hocket.recording.work import Tell, each
from hocket.recording.workspace import Workspace

__all__ = ["Collection", "collect_parts"]


@dataclass(frozen=True, eq=False)
class Collection:
    """A job's parts by rank, and what brings the times of each onto the job's clock."""

    parts: Sequence[Part]
    shifts: Sequence[Shift]

    def shifted(self) -> Iterator[tuple[Part, Shift]]:
        """Each part with what shifts it."""
        return zip(self.parts, self.shifts, strict=True)

    def recordings(self) -> list[Recording]:
        """All of them in memory, on the job's clock."""
        return [part.load().shifted(shift) for part, shift in self.shifted()]


@dataclass(frozen=True)
class _Stream:
    """A stream that is to become a part."""

    path: Path
    files: list[Path]
    window: str
    sources: tuple[PartSource, ...]
    part: Path


class AlikeGroups:
    """Makes equal groups one object: of thousands of ranks each has a list of all."""

    def __init__(self) -> None:
        self._known: dict[Group, Group] = {}

    def of(self, part: Part | None) -> Part | None:
        """The part, its groups being those of the parts before."""
        if part is None:
            return None
        groups = tuple(self._known.setdefault(group, group) for group in part.head.groups)
        return Part(part.section, msgspec.structs.replace(part.head, groups=groups))


def collect_parts(folders: Sequence[Path], window: str, workspace: Workspace, jobs: int, tell: Tell) -> list[Part]:
    """The parts of the newest job in the folders, by rank, as far as all of them go back; of a `window` of steps, from
    where it is kept, where that is not "". Raises FormatError where a folder has no stream, a stream is broken, a rank
    is in two folders, or they are of several jobs."""
    found = {folder: _streams(folder, window, workspace) for folder in folders}
    streams = [stream for own in found.values() for stream in own]
    alike = AlikeGroups()
    known = {stream.path: alike.of(workspace.known_part(stream.part, stream.sources)) for stream in streams}
    missing = [stream for stream in streams if known[stream.path] is None]
    for stream, _ in zip(missing, each(_make_part, missing, jobs, tell, "streams read"), strict=True):
        known[stream.path] = alike.of(open_part(PartSection.whole(stream.part)))
    parts = _of_one_job(
        {folder: [part for stream in own if (part := known[stream.path]) is not None] for folder, own in found.items()}
    )
    if not any(len(part) for part in parts):
        steps = f"the script made {max(part.head.steps for part in parts)} steps"
        raise FormatError(f"{folders[0]}: no rank recorded a collective; {steps}: are --skip-steps and --steps right?")
    return [part for part in map(alike.of, common_parts(parts, workspace.common_path, jobs, tell)) if part is not None]


def _make_part(stream: _Stream) -> None:
    write_part(read_recording(stream.path, stream.window, stream.files), stream.sources, stream.part)


def _streams(folder: Path, window: str, workspace: Workspace) -> list[_Stream]:
    kept = window_folder(folder, window) if window else folder
    streams = [
        _Stream(path, files, window, tuple(map(source_of, filter(Path.exists, files))), workspace.part_path(path))
        for path, files in (stream_files(kept) or stream_files(folder)).items()
    ]
    if not streams:
        raise no_streams(folder)
    return streams


def _of_one_job(found: Mapping[Path, Sequence[Part]]) -> list[Part]:
    """The parts of each folder's newest job, by rank, which are one job's."""
    (first, job), *others = ((folder, _newest_job(parts)) for folder, parts in found.items())
    for folder, other in others:
        if other != job:
            raise FormatError(
                f"{folder}: another job than that in {first} ({other} and {job}): give the folders of one job's nodes"
            )
    known: dict[int, Path] = {}
    parts = [(folder, part) for folder, own in found.items() for part in own if part.meta.job == job]
    for folder, part in parts:
        if known.setdefault(part.rank, folder) != folder:
            raise FormatError(
                f"{folder}: has rank {part.rank}, which {known[part.rank]} has too: give each node's folder once, and"
                " of a rank that was copied there remove one"
            )
    return sorted((part for _, part in parts), key=lambda part: part.rank)


def _newest_job(parts: Sequence[Part]) -> str:
    return max(sorted(parts, key=lambda part: part.rank), key=lambda part: part.meta.epoch_ns).meta.job
