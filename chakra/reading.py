"""Reads execution traces: one rank's `.et` file, or the files of all ranks of a job."""

import re
from pathlib import Path

from hocket._core import chakra as engine
from hocket.chakra.file import file_bytes
from hocket.chakra.groups import FILE_NAMES, read_groups
from hocket.chakra.messages import decode_metadata
from hocket.chakra.trace import Trace, TraceSet
from hocket.core.errors import FormatError

__all__ = ["read_trace", "read_traces"]

_RANK_FILE = re.compile(r"(.+)\.(0|[1-9][0-9]*)\.et")


def read_trace(path: Path | str) -> Trace:
    """One rank's trace from a `.et` file of schema 0.0.4 or 1.0.0, plain or gzip.

    Raises FormatError, naming the file and the byte offset, when the file is absent, truncated or of another format.
    Dependencies are not checked here: `hocket.chakra.validate` does.
    """
    columns, strings, metadata = engine.read(file_bytes(path), str(path))
    version, attributes = decode_metadata(metadata, path)
    return Trace(version=version, metadata=attributes, strings=strings, **columns)


def read_traces(path: Path | str, groups: Path | str | None = None) -> TraceSet:
    """The traces of a job: `PREFIX.<rank>.et` for every rank from 0, given `PREFIX` or a folder with one such prefix.

    Process groups come from the file `groups`, else from comm_groups.json or comm_group.json in the traces' folder.
    Raises FormatError for files that cannot be read, a rank that is missing (`world_size` in the metadata, where it
    is there, tells the last), and a folder with several prefixes.
    """
    files = _rank_files(Path(path))
    if groups is None:
        beside = [files[0].with_name(name) for name in FILE_NAMES]
        groups = next((file for file in beside if file.is_file()), None)
    traces = tuple(read_trace(file) for file in files)
    for file, trace in zip(files, traces, strict=True):
        _check_world(Path(path), file, trace.metadata.get("world_size", len(files)), len(files))
    return TraceSet(
        traces=traces,
        groups={} if groups is None else read_groups(groups),
        paths=tuple(str(file) for file in files),
    )


def _rank_files(path: Path) -> list[Path]:
    """Files of the ranks 0, 1, ... of the trace that `path` names."""
    folder, wanted = (path, None) if path.is_dir() else (path.parent, path.name)
    if not folder.is_dir():
        raise FormatError(f"{path}: no such folder or trace prefix")
    found: dict[str, dict[int, Path]] = {}
    for file in folder.iterdir():
        if match := _RANK_FILE.fullmatch(file.name):
            found.setdefault(match[1], {})[int(match[2])] = file
    if wanted is None and len(found) > 1:
        prefixes = ", ".join(str(folder / prefix) for prefix in sorted(found))
        raise FormatError(f"{folder}: traces of several runs; name one of the prefixes {prefixes}")
    ranks = found.get(wanted, {}) if wanted is not None else next(iter(found.values()), {})
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
        f"{path}: the trace of rank {rank} is missing ({found} of {world} ranks found); every rank's file is needed"
    )
