"""Reads a job's profiles: pairs the two kinds of files of each rank and makes its trace of what there is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hocket.base.errors import FormatError
from hocket.chakra.importers.file_rank import number_in, rank_of
from hocket.chakra.importers.files import head_of
from hocket.chakra.importers.pytorch.calls import PROFILES, Untold
from hocket.chakra.importers.pytorch.execution_trace import is_execution_trace, read_execution_trace
from hocket.chakra.importers.pytorch.joining import joined
from hocket.chakra.importers.pytorch.kineto import Kineto, read_kineto
from hocket.chakra.importers.pytorch.losses import ANEW, note_losses
from hocket.chakra.importers.pytorch.one_job import ONE_JOB, require_one_job, require_one_recording
from hocket.chakra.importers.pytorch.profile import RankProfile, traces_of
from hocket.chakra.importers.pytorch.world import world_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.losses import Loss, Lost

__all__ = ["is_kineto", "is_pytorch", "kinetos_of", "read_pytorch"]

_EXECUTION_TRACE = Untold(
    "an execution trace without Kineto's profile does not tell",
    "import Kineto's profile with it, or let hocket collect record it",
)


def is_pytorch(head: bytes) -> bool:
    """Whether a file that begins like this is one of the profiler's, as it wrote it."""
    return is_kineto(head) or (is_execution_trace(head) and b'"inclusive_dur"' not in head)


def is_kineto(head: bytes) -> bool:
    """Whether a file that begins like this is Kineto's timeline."""
    return b'"traceEvents"' in head or re.match(rb'\s*\{\s*"schemaVersion"', head) is not None


def kinetos_of(paths: Sequence[Path]) -> Iterator[tuple[int, Path, Kineto]]:
    """Kineto's timelines, one after the other, each with its rank: as distributedInfo tells, else the file's name.

    Raises FormatError, naming the file, for what cannot be read, and where two are of one rank.
    """
    found: dict[int, Path] = {}
    for path in paths:
        kineto = read_kineto(path)
        rank = kineto.rank if kineto.rank is not None else rank_of(path, len(paths))
        if rank in found:
            raise FormatError(f"{path}: of rank {rank}, as {found[rank]} is; {ONE_JOB}")
        found[rank] = path
        yield rank, path, kineto


def read_pytorch(paths: Sequence[Path], notes: Notes, told: Told = NOTHING_TOLD) -> list[RankTrace]:
    """The ranks of a job: of each an execution trace, Kineto's profile, or both.

    The rank is in Kineto's distributedInfo, else in the file's name (rank3, else its last number), unless it is told.
    Raises FormatError, naming the file, for what is neither, and where files are of two jobs or nothing is in any.
    """
    timelines = [path for path in paths if is_kineto(head_of(path))]
    kinetos = {rank: (path, kineto) for rank, path, kineto in kinetos_of(timelines)}
    require_one_job(kinetos)
    traces: dict[int, Path] = {}
    for path in paths:
        if path not in timelines:
            rank = rank_of(path, len(paths))
            if rank in traces:
                raise FormatError(f"{path}: of rank {rank}, as {traces[rank]} is; {ONE_JOB}")
            traces[rank] = path
    ranks = sorted({*kinetos, *traces})
    profiles = {rank: _profile(rank, traces.get(rank), kinetos.get(rank), notes) for rank in ranks}
    if told.rank is not None:
        if len(profiles) > 1:
            raise FormatError(f"{paths[0]}: --rank {told.rank} is one file's rank, and these are of ranks {ranks}")
        _require_agreement(told.rank, kinetos)
        profiles = dict.fromkeys([told.rank], profiles[ranks[0]])
    elif len(ranks) == 1 and not any(_tells_rank(path, kinetos) for path in paths):
        notes[f"which rank this is: taken to be {ranks[0]}; --rank tells"] += 1
    for path, kineto in kinetos.values():
        if told.world and kineto.world and told.world != kineto.world:
            raise FormatError(f"{path}: of a job of {kineto.world} ranks, --world says {told.world}: drop --world")
    listed = [group for profile in profiles.values() for group in profile.groups]
    world = world_of(profiles, listed, [told.world, *(kineto.world for _, kineto in kinetos.values())])
    world.require_for(paths[0], told)
    found = _on_one_clock(traces_of(profiles, world, notes, told), profiles)
    if not notes.lost and not any(len(rank.trace) for rank in found):
        files = ", ".join(map(str, paths))
        raise FormatError(f"{files}: nothing to import: no operation, kernel or collective is in there")
    return found


def _require_agreement(rank: int, kinetos: Mapping[int, tuple[Path, Kineto]]) -> None:
    """Raises FormatError, naming the file, where one says that it is of another rank, or of a job without this one."""
    for path, kineto in kinetos.values():
        if kineto.rank not in (None, rank):
            raise FormatError(f"{path}: of rank {kineto.rank}, --rank says {rank}: drop --rank")
        if kineto.world and rank >= kineto.world:
            raise FormatError(
                f"{path}: of a job of {kineto.world} ranks, --rank says {rank}: the last is {kineto.world - 1}"
            )


def _on_one_clock(ranks: Sequence[RankTrace], profiles: Mapping[int, RankProfile]) -> list[RankTrace]:
    """The ranks with times that count from the earliest base of their timelines."""
    bases = {rank: profile.kineto.base for rank, profile in profiles.items() if profile.kineto is not None}
    first = min(bases.values(), default=0)
    shifts = {rank: np.uint64((base - first) // 1000) for rank, base in bases.items() if base > first}
    return [
        replace(rank, trace=replace(rank.trace, start_us=rank.trace.start_us + shifts[rank.rank]))
        if rank.rank in shifts
        else rank
        for rank in ranks
    ]


def _tells_rank(path: Path, kinetos: Mapping[int, tuple[Path, Kineto]]) -> bool:
    """Whether a file says its rank, inside or by its name."""
    inside = any(kineto.rank is not None for file, kineto in kinetos.values() if file == path)
    return inside or number_in(path, 1) is not None


def _profile(rank: int, host: Path | None, timeline: tuple[Path, Kineto] | None, notes: Notes) -> RankProfile:
    trace = read_execution_trace(host) if host else None
    path, kineto = timeline or (None, None)
    told = {group.name: group for group in (kineto.groups if kineto else ())}
    for group in trace.groups if trace else ():
        told.setdefault(group.name, group)
    if host and trace and trace.is_cut:
        note = f"{host} is cut off: what followed its first {len(trace.events)} operations is lost; {ANEW}"
        notes.lose(rank, Loss(Lost.NODE, "file", "its end: it was cut off"), note)
    if path and kineto:
        if host and trace:
            require_one_recording(host, trace, path, kineto)
        note_losses(rank, path, kineto, notes)
    if kineto is None:
        notes["times, which an execution trace does not have: import Kineto's profile with it"] += 1
    elif trace is None and any(event.name.startswith("gloo:") for event in kineto.events):
        notes["names of gloo's groups: import the execution trace with Kineto's profile"] += 1
    host_did = joined(rank, trace, kineto, notes)
    source = PROFILES if kineto is not None else _EXECUTION_TRACE
    return RankProfile(tuple(told.values()), host_did.events, kineto, host_did.untimed, source)
