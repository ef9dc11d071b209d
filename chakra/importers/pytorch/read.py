"""Reads a job's profiles: pairs the two kinds of files of each rank and makes its trace of what there is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.chakra.importers.files import head_of
from hocket.chakra.importers.pytorch.execution_trace import is_execution_trace, read_execution_trace
from hocket.chakra.importers.pytorch.issues import joined
from hocket.chakra.importers.pytorch.kineto import Kineto, read_kineto
from hocket.chakra.importers.pytorch.profile import Profile, traces_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.core.errors import FormatError

__all__ = ["is_pytorch", "rank_of", "read_pytorch"]

_RANK = re.compile(r"rank[-_.]?(\d{1,9})")
_NUMBER = re.compile(r"(\d{1,9})\D*$")


def is_pytorch(head: bytes) -> bool:
    """Whether a file that begins like this is one of the profiler's, as it wrote it."""
    return _is_kineto(head) or (is_execution_trace(head) and b'"inclusive_dur"' not in head)


def _is_kineto(head: bytes) -> bool:
    return b'"traceEvents"' in head or re.match(rb'\s*\{\s*"schemaVersion"', head) is not None


@dataclass
class _Files:
    """A rank's files."""

    trace: Path | None = None
    kineto: Path | None = None


def read_pytorch(paths: Sequence[Path], notes: Notes) -> list[RankTrace]:
    """The ranks of a job: of each an execution trace, Kineto's profile, or both.

    The rank is in Kineto's distributedInfo, else in the file's name (rank3, else its last number). Raises FormatError,
    naming the file, for what is neither.
    """
    ranks: dict[int, _Files] = {}
    kinetos: dict[int, Kineto] = {}
    for path in paths:
        if _is_kineto(head_of(path)):
            kineto = read_kineto(path)
            rank = kineto.rank if kineto.rank is not None else rank_of(path, len(paths))
            files = ranks.setdefault(rank, _Files())
            if files.kineto is not None:
                raise FormatError(f"{path}: of rank {rank}, as {files.kineto} is; import one job at a time")
            files.kineto, kinetos[rank] = path, kineto
        else:
            rank = rank_of(path, len(paths))
            files = ranks.setdefault(rank, _Files())
            if files.trace is not None:
                raise FormatError(f"{path}: of rank {rank}, as {files.trace} is; import one job at a time")
            files.trace = path
    world = max([max(ranks) + 1, *(kineto.world or 0 for kineto in kinetos.values())])
    profiles = {rank: _profile(files, kinetos.pop(rank, None), notes) for rank, files in sorted(ranks.items())}
    return traces_of(profiles, world, notes)


def rank_of(path: Path, num_files: int) -> int:
    """The rank in a file's name. Raises FormatError where there is none, but of a single rank's files."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    match = _RANK.search(stem) or _NUMBER.search(stem)
    if match is None and num_files > 2:
        raise FormatError(f"{path}: nothing tells its rank: name it, as in trace_rank3.json")
    return int(match[1]) if match else 0


def _profile(files: _Files, kineto: Kineto | None, notes: Notes) -> Profile:
    trace = read_execution_trace(files.trace) if files.trace else None
    told = {group.name: group for group in (kineto.groups if kineto else ())}
    for group in trace.groups if trace else ():
        told.setdefault(group.name, group)
    for path, is_cut in ((files.trace, trace and trace.is_cut), (files.kineto, kineto and kineto.is_cut)):
        if is_cut:
            notes[f"the end of {path}, which is cut off"] += 1
    if kineto is None:
        notes["times, which an execution trace does not have: import Kineto's profile with it"] += 1
    elif trace is None:
        notes["names of gloo's groups: import the execution trace with Kineto's profile"] += 1
    return Profile(tuple(told.values()), joined(trace, kineto, notes), kineto)
