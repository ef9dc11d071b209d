"""Reads a job's profiles: pairs the two kinds of files of each rank and makes its trace of what there is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.chakra.importers.files import head_of
from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.pytorch.calls import calls_of
from hocket.chakra.importers.pytorch.device_trace import device_trace
from hocket.chakra.importers.pytorch.execution_trace import read_execution_trace
from hocket.chakra.importers.pytorch.grouping import RankIssues, find_groups
from hocket.chakra.importers.pytorch.host import HostEvent
from hocket.chakra.importers.pytorch.host_trace import host_trace
from hocket.chakra.importers.pytorch.issues import issues_of, joined
from hocket.chakra.importers.pytorch.kineto import Kineto, read_kineto
from hocket.chakra.importers.pytorch.waits import waits_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.trace import Trace
from hocket.core.errors import FormatError

__all__ = ["is_pytorch", "read_pytorch"]

_RANK = re.compile(r"rank[-_.]?(\d{1,9})")
_NUMBER = re.compile(r"(\d{1,9})\D*$")


def is_pytorch(head: bytes) -> bool:
    """Whether a file that begins like this is one of the profiler's."""
    return _is_kineto(head) or bool(re.match(rb'\s*\{\s*"schema"\s*:\s*"1\.', head))


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
            rank = kineto.rank if kineto.rank is not None else _rank_of(path, len(paths))
            files = ranks.setdefault(rank, _Files())
            if files.kineto is not None:
                raise FormatError(f"{path}: of rank {rank}, as {files.kineto} is; import one job at a time")
            files.kineto, kinetos[rank] = path, kineto
        else:
            rank = _rank_of(path, len(paths))
            files = ranks.setdefault(rank, _Files())
            if files.trace is not None:
                raise FormatError(f"{path}: of rank {rank}, as {files.trace} is; import one job at a time")
            files.trace = path
    world = max([max(ranks) + 1, *(kineto.world or 0 for kineto in kinetos.values())])
    parts = {rank: _gather(files, world, kinetos.pop(rank, None), notes) for rank, files in sorted(ranks.items())}
    find_groups({rank: part.issued for rank, part in parts.items()})
    return [RankTrace(rank, world, _trace(rank, part, notes), dict(part.issued.groups)) for rank, part in parts.items()]


def _rank_of(path: Path, num_files: int) -> int:
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    match = _RANK.search(stem) or _NUMBER.search(stem)
    if match is None and num_files > 2:
        raise FormatError(f"{path}: nothing tells its rank: name it, as in trace_rank3.json")
    return int(match[1]) if match else 0


@dataclass(frozen=True)
class _Part:
    """What a rank's files have."""

    issued: RankIssues
    events: list[HostEvent]
    kineto: Kineto | None


def _gather(files: _Files, world: int, kineto: Kineto | None, notes: Notes) -> _Part:
    trace = read_execution_trace(files.trace) if files.trace else None
    told = {group.name: group for group in (kineto.groups if kineto else ())}
    for group in trace.groups if trace else ():
        told.setdefault(group.name, group)
    groups = {group.name: group.members(world) for group in told.values() if group.members(world)}
    if not groups:
        notes["process groups, which are not in the profile: all operations taken to be of all ranks"] += 1
        groups = {"0": tuple(range(world))}
    for path, is_cut in ((files.trace, trace and trace.is_cut), (files.kineto, kineto and kineto.is_cut)):
        if is_cut:
            notes[f"the end of {path}, which is cut off"] += 1
    if kineto is None:
        notes["times, which an execution trace does not have: import Kineto's profile with it"] += 1
    elif trace is None:
        notes["names of gloo's groups: import the execution trace with Kineto's profile"] += 1
    events = joined(trace, kineto, notes)
    return _Part(RankIssues(issues_of(events), groups), events, kineto)


def _trace(rank: int, part: _Part, notes: Notes) -> Trace:
    issues, groups, kineto = part.issued.issues, part.issued.groups, part.kineto
    if kineto is None:
        metadata = {"generator": "PyTorch ExecutionTraceObserver"}
        return build_lanes(
            rank, calls_of(issues, groups, waits_of(part.events, issues, {}, notes), notes), "host", metadata
        )
    if kineto.device:
        return device_trace(rank, kineto, issues, groups, notes)
    return host_trace(rank, kineto, part.events, issues, groups, notes)
