"""Reads execution traces: one rank's `.et` file, or the files of all ranks of a job."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.reading import name_of
from hocket.chakra.eras import Era
from hocket.chakra.file import BLOCK_BYTES
from hocket.chakra.groups import FILE_NAMES, read_groups
from hocket.chakra.job_folders import find_job
from hocket.chakra.trace import Trace, TraceSet, members_of
from hocket.chakra.trace_file import TraceFile

__all__ = ["TraceFiles", "find_groups", "open_traces", "rank_files", "read_trace", "read_traces"]

_RANK_FILE = re.compile(r"(.+)\.(0|[1-9][0-9]*)\.et(?:\.gz)?")
_LEAST_BLOCK = 1 << 20


def read_trace(path: Path | str, era: Era | str | None = None, complete: bool = False) -> Trace:
    """One rank's trace from a `.et` file, plain or gzip, of any schema; `era` says of which where the file does not.

    `complete` keeps what has no column, for writing it again. Raises FormatError, naming the file and the byte offset,
    when the file is absent, truncated or of another format. Dependencies are not checked here:
    `hocket.chakra.validate` does.
    """
    return next(TraceFile(path, era).blocks(None, complete))


def read_traces(
    path: Path | str, groups: Path | str | None = None, era: Era | str | None = None, complete: bool = False
) -> TraceSet:
    """The traces of a job: `PREFIX.<rank>.et` for every rank from 0, given `PREFIX` or a folder with one such prefix.

    Of a folder of jobs (`job_folders`) they are those of its latest. Process groups come from the file `groups`, else
    from comm_groups.json or comm_group.json in the traces' folder. Raises FormatError for files that cannot be read, a
    rank that is missing (`world_size` in the metadata, where it is there, tells the last), and a folder with several
    prefixes.
    """
    return TraceFiles.of_job(path, groups, era).read(complete)


class TraceFiles:
    """The traces of a job as files: `blocks` goes through their nodes without holding them.

    `paths` has a rank's file at its place; `groups` as in `TraceSet`. Raises FormatError when a file is no trace.
    """

    def __init__(
        self, files: Sequence[Path], groups: dict[str, tuple[int, ...]] | None = None, era: Era | str | None = None
    ) -> None:
        self.files = tuple(TraceFile(file, era) for file in files)
        self.groups = groups or {}
        self.paths = tuple(str(file) for file in files)

    @classmethod
    def of_job(cls, path: Path | str, groups: Path | str | None = None, era: Era | str | None = None) -> "TraceFiles":
        """The files that `read_traces` reads, with its errors."""
        path = find_job(name_of(path)).path
        files = rank_files(path)
        if groups is None:
            groups = find_groups(files[0].parent)
        traces = cls(files, {} if groups is None else read_groups(groups), era)
        for file in traces.files:
            _check_world(path, file.path, file.metadata.get("world_size", len(files)), len(files))
        return traces

    @property
    def num_ranks(self) -> int:
        return len(self.files)

    def members(self, group: str) -> tuple[int, ...]:
        """World ranks of a process group, in group order. Raises KeyError when it is unknown."""
        return members_of(group, self.groups, self.num_ranks)

    def blocks(self, complete: bool = False) -> Iterator[tuple[int, Trace]]:
        """Ranks and blocks of their nodes: the ranks' first blocks, then their second ones, as ranks go in step."""
        size = max(BLOCK_BYTES // self.num_ranks, _LEAST_BLOCK)
        waiting = {rank: file.blocks(size, complete) for rank, file in enumerate(self.files)}
        while waiting:
            for rank, blocks in list(waiting.items()):
                trace = next(blocks, None)
                if trace is None:
                    del waiting[rank]
                else:
                    yield rank, trace

    def read(self, complete: bool = False) -> TraceSet:
        """All of it in memory."""
        traces = tuple(next(file.blocks(None, complete)) for file in self.files)
        return TraceSet(traces, self.groups, self.paths)


def open_traces(path: Path | str, groups: Path | str | None = None, era: Era | str | None = None) -> TraceFiles:
    """The traces of a job, or the one of a file; nothing but their heads is read yet. Raises FormatError as
    `read_traces` does."""
    path = find_job(path).path
    if not path.is_file():
        return TraceFiles.of_job(path, groups, era)
    groups = groups or find_groups(path.parent)
    return TraceFiles((path,), read_groups(groups) if groups else {}, era)


def find_groups(folder: Path) -> Path | None:
    """The comm-group JSON beside traces."""
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def rank_files(path: Path) -> list[Path]:
    """Files of the ranks 0, 1, ... of the trace that `path` names; of a folder of jobs its latest's. Raises FormatError
    where one is missing."""
    path = find_job(path).path
    folder, wanted = (path, None) if os.path.isdir(path) else (path.parent, path.name)
    if not os.path.isdir(folder):
        raise FormatError(f"{path}: no such folder or trace prefix")
    found: dict[str, dict[int, Path]] = {}
    for file in folder.iterdir():
        if match := _RANK_FILE.fullmatch(file.name):
            other = found.setdefault(match[1], {}).setdefault(int(match[2]), file)
            if other != file:
                raise FormatError(f"{folder}: {other.name} and {file.name} are both of rank {match[2]}: remove one")
    if wanted is None and len(found) > 1:
        prefixes = ", ".join(str(folder / prefix) for prefix in sorted(found))
        raise FormatError(f"{folder}: traces of several runs; name one of the prefixes {prefixes}")
    ranks = found.get(wanted, {}) if wanted is not None else next(iter(found.values()), {})
    if not ranks and wanted is not None and (job := find_job(folder).path) != folder:
        return rank_files(job / wanted)
    if not ranks:
        raise FormatError(f"{path}: no trace here; expected files PREFIX.<rank>.et for every rank from 0")
    missing = sorted(set(range(max(ranks) + 1)) - set(ranks))
    if missing:
        raise _missing(path, missing[0], len(ranks), max(ranks) + 1)
    return [ranks[rank] for rank in sorted(ranks)]


def _check_world(path: Path, file: Path, world: object, found: int) -> None:
    """Raises FormatError when `file` belongs to a job of another size than the number of traces found."""
    if not isinstance(world, int) or world == found:
        return
    if world > found:
        raise _missing(path, found, found, world)
    raise FormatError(f"{file}: of a job of {world} ranks, but {found} traces are here: remove those of other jobs")


def _missing(path: Path, rank: int, found: int, world: int) -> FormatError:
    return FormatError(
        f"{path}: the trace of rank {rank} is missing ({found} of {world} ranks found); every rank's file is needed:"
        f" add it, or make the missing ones after those that are here: hocket trace complete {path} -o JOB"
    )
