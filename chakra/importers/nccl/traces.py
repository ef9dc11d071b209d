"""Profiles of NCCL alone as traces: the calls of every process, with the communicators as process groups.

They know sizes, roots, types, what NCCL chose, when calls were enqueued and, where asked for, when they were done; but
neither reductions nor waits.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hocket.base.collectives import NAMED_KINDS
from hocket.base.errors import FormatError
from hocket.chakra.importers.common_calls import agreeing
from hocket.chakra.importers.dtypes import checked_bytes, dtype_name
from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.nccl.calls import KINDS, CallsDone, calls_done
from hocket.chakra.importers.nccl.clocks import host_shifts
from hocket.chakra.importers.nccl.devices import ranks_of
from hocket.chakra.importers.nccl.members import Members, members_of, world_ranks
from hocket.chakra.importers.nccl.profile import POINT_TO_POINT, NcclProfile, read_profile
from hocket.chakra.importers.rank import IssuedCall, Notes, RankTrace
from hocket.chakra.losses import Loss, Lost

__all__ = ["read_nccl_profiles"]

# Of these a rank's count is one of as many parts of its input, or of its root's, as there are ranks.
_IN_PARTS = [kind for kind in NAMED_KINDS if kind.input_is_cut]
_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]
# NCCL counts the bytes of these, whatever the caller's type was.
_OF_BYTES = ("all_gather", "broadcast")


def read_nccl_profiles(paths: Sequence[Path], notes: Notes) -> list[RankTrace]:
    """The ranks of a job, from one file per process. Raises FormatError, naming the file, for what is no profile, and
    where the files do not tell the ranks."""
    profiles = [part for path in paths for part in ranks_of(read_profile(path))]
    ranks, world = world_ranks(profiles)
    members = members_of(profiles, ranks, world)
    groups = _groups(members)
    _note_losses(profiles, ranks, notes)
    done = [calls_done(profile) for profile in profiles]
    shifts = host_shifts(profiles, done)
    for host, shift in shifts.items():
        if shift:
            notes[
                f"the clock of {host} was moved by {shift / 1000:.1f} us: collectives ended before all had begun"
            ] += 1
    calls = {
        rank: list(_calls(profile, own, rank, members, groups, shifts[profile.host], notes))
        for profile, own, rank in zip(profiles, done, ranks, strict=True)
    }
    notes["collectives and messages with unknown waits: nothing but the next of their group depends on them"] += sum(
        map(len, calls.values())
    )
    notes["computation is the time between the issues of operations on the host; reductions are unknown"] += 1
    return [
        RankTrace(rank, world, build_lanes(rank, own, "compute", {"generator": "NCCL profiler"}), groups)
        for rank, own in agreeing(calls, groups, notes).items()
    ]


def _groups(members: Mapping[int, Members]) -> dict[str, tuple[int, ...]]:
    """World ranks of every communicator whose members are all known."""
    return {
        f"{identifier:#x}": tuple(rank for rank in ranks if rank is not None)
        for identifier, ranks in sorted(members.items())
        if None not in ranks
    }


def _note_losses(profiles: Sequence[NcclProfile], ranks: Sequence[int], notes: Notes) -> None:
    of_process: dict[Path, list[int]] = defaultdict(list)
    for profile, rank in zip(profiles, ranks, strict=True):
        of_process[profile.path].append(rank)
    for path, profile in {profile.path: profile for profile in profiles}.items():
        name = f"rank{'s' * (len(of_process[path]) > 1)} {', '.join(map(str, sorted(of_process[path])))}"
        rank = of_process[path][0]
        if lost := sum(profile.dropped.values()):
            loss = Loss(Lost.NODE, "event", "no record had room for it")
            note = f"{name}: events that got no record; HOCKET_NCCL_RECORDS sets how many have room"
            notes.lose(rank, loss, note, lost)
        if profile.error:
            loss = Loss(Lost.NODE, "file", "its end: the disk was full")
            notes.lose(rank, loss, f"{name}: its file ends early, for the disk was full")


def _calls(
    profile: NcclProfile,
    done: CallsDone,
    rank: int,
    members: Mapping[int, Members],
    groups: Mapping[str, tuple[int, ...]],
    shift: int,
    notes: Notes,
) -> Iterator[IssuedCall]:
    tags = {identifier: tag for tag, identifier in enumerate(sorted(members))}
    for row, record in enumerate(done.records):
        function, communicator = done.function(row), profile.communicators[int(record["communicator"])]
        group = f"{communicator.id:#x}"
        kind = _kind(function, bool(record["kind"] == POINT_TO_POINT))
        if not kind:
            loss = Loss(Lost.NODE, function, "no collective of a trace")
            notes.lose(rank, loss, f"NCCL's {function}, which is no collective of a trace: left out")
            continue
        ranks = groups.get(group)
        if ranks is None:
            known = [member for member in members[communicator.id] if member is not None]
            of_ranks = f"communicator {group} of {communicator.ranks} ranks, of which only {known[:8]} are known"
            loss = Loss.of_call(kind, "its communicator's ranks, of which too few have files")
            notes.lose(rank, loss, f"{of_ranks}: left out")
            continue
        place = f"{profile.path}: {function} {int(done.number[row])} on communicator {group}"
        is_message = kind in ("send", "recv")
        other = -1  # a message's other end, or the root
        if is_message or kind in _ROOTED:
            if not 0 <= record["peer"] < len(ranks):
                raise FormatError(f"{place}: there is no rank {record['peer']} on it: the file was damaged")
            other = ranks[int(record["peer"])]
        if is_message and other == rank:
            loss = Loss(Lost.NODE, kind, "a message of the rank to itself")
            notes.lose(rank, loss, "messages of a rank to itself: left out")
            continue
        if not done.ended[row]:
            notes[f"rank {rank}: {kind} #{int(done.number[row])} of communicator {group}: never completed"] += 1
        elif not done.end_ns[row]:
            notes["operations of unknown duration: record kernel_channel or proxy_operation to know it"] += 1
        start = int(record["start_ns"])
        end = start + int(done.gpu_ns[row]) if done.gpu_ns[row] else max(start, int(done.end_ns[row]))
        yield IssuedCall(
            kind,
            group,
            checked_bytes([int(done.count_bytes[row]) * (len(ranks) if kind in _IN_PARTS else 1)], place),
            start + shift,
            end + shift if done.end_ns[row] else None,
            root=-1 if is_message else other,
            peer=other if is_message else -1,
            tag=tags[communicator.id],
            dtype="" if kind in _OF_BYTES else dtype_name(record["datatype"].decode(errors="replace")[len("nccl") :]),
            sequence=None if is_message else int(done.number[row]),
            queue="" if is_message else group,
            extra=done.attributes(row),
        )


def _kind(function: str, is_message: bool) -> str:
    """What a trace calls it; "" where it has no such thing."""
    return {"Send": "send", "Recv": "recv"}.get(function, "") if is_message else KINDS.get(function, "")
