"""Puts the ranks' calls together: which belong to one collective or message, and where ranks disagree."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hocket.plugin.torch.operations import PEER_TO_PEER
from hocket.plugin.torch.recording import Call, Group, Recording

__all__ = [
    "SYNCHRONIZING",
    "Collective",
    "GroupKey",
    "Mismatch",
    "clock_residual",
    "group_key",
    "match",
    "number_groups",
    "scattered_bytes",
]

# Kinds that no rank can leave before all have entered.
SYNCHRONIZING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")

# MPI's functions in which each rank may give another size.
_UNEVEN = re.compile(r"MPI_I?(all)?(gather|scatter)v", re.IGNORECASE)

# Sorted members, and which of the groups with these members, in order of creation.
GroupKey = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Collective:
    """The calls, by rank, that make up collective number `sequence` of a group."""

    group: int
    sequence: int
    calls: dict[int, Call]

    @property
    def kind(self) -> str:
        return next(iter(self.calls.values())).kind

    @property
    def starts(self) -> list[int]:
        return [call.start for call in self.calls.values()]

    @property
    def ends(self) -> list[int]:
        """Completions, of the ranks that saw one."""
        return [call.end for call in self.calls.values() if call.end is not None]


@dataclass(frozen=True)
class Mismatch:
    """Where ranks do not agree, or did not finish: `problem` is a word to sort by, `message` names the place."""

    problem: str
    message: str


def group_key(group: Group) -> GroupKey:
    """What identifies a group on all ranks; names need not."""
    return tuple(sorted(group.ranks)), group.order


def number_groups(recordings: Sequence[Recording]) -> dict[GroupKey, tuple[int, Group]]:
    """Numbers the groups the same on all ranks: 0 the world, the others 1 to n by their members."""
    groups: dict[GroupKey, Group] = {}
    for recording in recordings:
        for call in recording.calls:
            groups.setdefault(group_key(call.group), call.group)
    world = (tuple(range(recordings[0].world)), 0)
    others = sorted(key for key in groups if key != world)
    numbered = {key: (number, groups[key]) for number, key in enumerate(others, start=1)}
    return ({world: (0, groups[world])} if world in groups else {}) | numbered


def match(
    recordings: Sequence[Recording], groups: dict[GroupKey, tuple[int, Group]]
) -> tuple[list[Collective], list[Mismatch]]:
    """Every collective, in order of group and sequence, and everything on which the ranks disagree."""
    calls: dict[tuple[int, int], dict[int, Call]] = defaultdict(dict)
    for recording in recordings:
        for call in recording.calls:
            if call.kind not in PEER_TO_PEER:
                calls[groups[group_key(call.group)][0], call.sequence][recording.rank] = call
    collectives = [Collective(group, sequence, by_rank) for (group, sequence), by_rank in sorted(calls.items())]
    mismatches = [*_unfinished(recordings)]
    for collective in collectives:
        mismatches += _disagreements(collective)
    mismatches += _unmatched_messages(recordings)
    return collectives, mismatches


def _unfinished(recordings: Sequence[Recording]) -> Iterator[Mismatch]:
    for recording in recordings:
        for error in recording.errors:
            yield Mismatch("not recorded", f"rank {recording.rank}: an operation could not be described: {error}")
        open_calls = [call for call in recording.calls if call.end is None and call.kind not in PEER_TO_PEER]
        for call in open_calls:
            yield Mismatch(
                "incomplete", f"rank {recording.rank}: {call.kind} #{call.sequence} of {_name(call.group)} did not end"
            )


def _disagreements(collective: Collective) -> Iterator[Mismatch]:
    calls = collective.calls
    first_rank, first = next(iter(calls.items()))
    place = f"{first.kind} #{collective.sequence} of group {collective.group} ({_name(first.group)})"
    missing = [rank for rank in first.group.ranks if rank not in calls]
    if missing:
        yield Mismatch("missing", f"{place}: recorded by ranks {sorted(calls)}, not by {missing}")
    for aspect in ("kind", "num_bytes", "dtype", "root", "reduction"):
        if aspect == "num_bytes" and (first.kind == "all_to_all" or _UNEVEN.match(first.op)):
            continue
        values = {rank: getattr(call, aspect) for rank, call in calls.items()}
        for rank, value in values.items():
            if value != values[first_rank]:
                name = aspect.replace("num_bytes", "bytes")
                yield Mismatch(
                    "different", f"{place}: {name} is {values[first_rank]} on rank {first_rank}, {value} on rank {rank}"
                )


def scattered_bytes(collectives: Sequence[Collective]) -> dict[tuple[int, int], int]:
    """What goes into each scatter, by group and sequence: its root alone knows, where parts differ."""
    return {
        (collective.group, collective.sequence): max(call.input_bytes for call in collective.calls.values())
        for collective in collectives
        if collective.kind == "scatter"
    }


def clock_residual(collectives: Sequence[Collective]) -> tuple[int, Collective | None]:
    """By how many ns, at worst, a collective seems to end before its last rank began, and which; 0 when none does."""
    worst, where = 0, None
    for collective in collectives:
        complete = len(collective.calls) == len(next(iter(collective.calls.values())).group.ranks)
        if collective.kind in SYNCHRONIZING and complete and collective.ends:
            residual = max(collective.starts) - min(collective.ends)
            if residual > worst:
                worst, where = residual, collective
    return worst, where


def _unmatched_messages(recordings: Sequence[Recording]) -> Iterator[Mismatch]:
    """Sends without a receive and the other way round, per channel (source, destination, tag)."""
    sent: Counter[tuple[int, int, int]] = Counter()
    received: Counter[tuple[int, int, int]] = Counter()
    for recording in recordings:
        for call in recording.calls:
            if call.kind == "send" and call.peer is not None:
                sent[recording.rank, call.peer, call.tag] += 1
            elif call.kind == "recv" and call.peer is not None:
                received[call.peer, recording.rank, call.tag] += 1
    for channel in sorted(sent | received):
        if sent[channel] != received[channel]:
            source, destination, tag = channel
            yield Mismatch(
                "unmatched",
                f"rank {source} to {destination}, tag {tag}: {sent[channel]} sends, {received[channel]} receives",
            )


def _name(group: Group) -> str:
    return group.description or group.name
