"""Files of NCCL's Inspector (plugins/profiler/inspector, format v4.0): JSON objects, one after another.

An object is one collective of one rank of one communicator: kind, sequence number, size and measured time. There is
no issue time, only when the record was dumped, so the collectives of a rank follow each other without computation.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from hocket.base.collectives import NAMED_KINDS, kind_called
from hocket.base.errors import FormatError
from hocket.base.reading import JSON, read_bytes
from hocket.chakra.importers.common_calls import agreeing
from hocket.chakra.importers.files import MALFORMED
from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.rank import IssuedCall, LaneWait, Notes, RankTrace

__all__ = ["is_nccl_inspector", "read_nccl_inspector"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Time = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class _Header(msgspec.Struct):
    id: str
    rank: Annotated[int, msgspec.Meta(ge=0, le=2**24)]
    n_ranks: Annotated[int, msgspec.Meta(ge=1, le=2**24)]


class _Metadata(msgspec.Struct, frozen=True):
    hostname: str = ""
    pid: int = 0


class _Collective(msgspec.Struct):
    coll: str
    coll_sn: _Count
    coll_msg_size_bytes: _Count
    coll_exec_time_us: _Time


class _Message(msgspec.Struct):
    p2p: str
    p2p_peer: Annotated[int, msgspec.Meta(ge=0, le=2**24)]
    p2p_msg_size_bytes: _Count
    p2p_exec_time_us: _Time


class _Record(msgspec.Struct):
    header: _Header
    metadata: _Metadata = _Metadata()
    coll_perf: _Collective | None = None
    p2p_perf: _Message | None = None


_DECODER = msgspec.json.Decoder(_Record)
# NCCL's size is what its functions count: of a reduce_scatter the part of one rank, of an all_gather too.
_OF_ALL_RANKS = [kind for kind in NAMED_KINDS if kind.input_is_cut]
_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]
_Process = tuple[str, int]


def is_nccl_inspector(head: bytes) -> bool:
    """Whether a file that begins like this is the Inspector's."""
    return bool(re.match(rb'\s*\{\s*"header"\s*:\s*\{\s*"id"', head))


def read_nccl_inspector(paths: Sequence[Path], notes: Notes) -> list[RankTrace]:
    """The ranks of a job. Raises FormatError, naming file and line, for what is no Inspector file, and where no
    communicator has all processes: only that one tells the ranks."""
    records: dict[_Process, list[_Record]] = defaultdict(list)
    for path in paths:
        for record in _records(path):
            records[record.metadata.hostname or str(path), record.metadata.pid].append(record)
    rank_of, world = _world_ranks(records, paths[0])
    groups = _groups(records, rank_of, paths[0])
    calls = {rank_of[process]: list(_calls(own, groups, paths[0], notes)) for process, own in records.items()}
    notes["computation and waits: the Inspector records neither; collectives follow one another"] += 1
    notes["collectives below NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES (8192 unless set) may be missing"] += 1
    metadata = {"generator": "NCCL Inspector"}
    return [
        RankTrace(rank, world, build_lanes(rank, own, "compute", metadata), groups)
        for rank, own in agreeing(calls, groups, notes).items()
    ]


def _records(path: Path) -> Iterator[_Record]:
    for number, line in enumerate(read_bytes(path, JSON).splitlines(), start=1):
        if line.strip():
            try:
                yield _DECODER.decode(line)
            except MALFORMED as error:
                raise FormatError(f"{path}:{number}: not a record of NCCL's Inspector: {error}") from error


def _world_ranks(records: dict[_Process, list[_Record]], source: Path) -> tuple[dict[_Process, int], int]:
    """The rank of each process, and how many there are: those of a communicator that has all processes."""
    seen: dict[tuple[int, str], dict[_Process, int]] = defaultdict(dict)
    for process, own in records.items():
        for record in own:
            seen[record.header.n_ranks, record.header.id][process] = record.header.rank
    for (size, _), ranks in sorted(seen.items(), reverse=True):
        if len(ranks) == len(records) == len(set(ranks.values())) and max(ranks.values()) < size:
            return ranks, size
    raise FormatError(
        f"{source}: no communicator has all {len(records)} processes, so nothing tells their ranks; give the files of "
        "one job, in which all ranks take part in some collective"
    )


def _groups(
    records: dict[_Process, list[_Record]], rank_of: dict[_Process, int], source: Path
) -> dict[str, tuple[int, ...]]:
    """World ranks of each communicator, as far as there are files of its members."""
    members: dict[str, dict[int, int]] = defaultdict(dict)
    sizes = {}
    for process, own in records.items():
        for record in own:
            members[record.header.id][record.header.rank] = rank_of[process]
            sizes[record.header.id] = record.header.n_ranks
    for name, of_name in members.items():
        if sorted(of_name) != list(range(sizes[name])) or len(set(of_name.values())) < sizes[name]:
            raise FormatError(
                f"{source}: communicator {name} has {sizes[name]} ranks, of which {sorted(of_name)} are in these "
                "files; give the files of all ranks"
            )
    return {name: tuple(of_name[number] for number in sorted(of_name)) for name, of_name in members.items()}


def _calls(own: list[_Record], groups: dict[str, tuple[int, ...]], source: Path, notes: Notes) -> Iterator[IssuedCall]:
    time = 0
    for record in own:
        name = record.header.id
        members = groups[name]
        if record.coll_perf is not None:
            done = record.coll_perf
            kind = kind_called(done.coll) or ""
            if kind not in NAMED_KINDS:
                raise FormatError(f"{source}: communicator {name}: no collective is called '{done.coll}'")
            if kind in _ROOTED:
                notes[f"{kind} operations with unknown root"] += 1
            num_bytes = done.coll_msg_size_bytes * (len(members) if kind in _OF_ALL_RANKS else 1)
            peer, sequence, duration_us = -1, done.coll_sn, done.coll_exec_time_us
        elif record.p2p_perf is not None:
            message = record.p2p_perf
            kind, num_bytes, duration_us = message.p2p.lower(), message.p2p_msg_size_bytes, message.p2p_exec_time_us
            if kind not in ("send", "recv") or message.p2p_peer >= len(members):
                raise FormatError(f"{source}: communicator {name}: no message is a {message.p2p} of {message.p2p_peer}")
            peer, sequence = members[message.p2p_peer], None
        else:
            continue
        end = time + round(duration_us * 1000)
        yield IssuedCall(
            kind, name, num_bytes, time, end, peer=peer, sequence=sequence, queue=name, wait=LaneWait(0, time, end)
        )
        time = end
