"""Where ranks do not agree: collectives that some did not issue, did not finish or issued differently; messages."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import format_ranks, name_ranks
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.messages import ChannelTraffic, MessageChannel, find_unequal
from hocket.recording.recording import CallShape, Recording
from hocket.recording.waits import NONE

__all__ = ["ASPECTS", "Mismatch", "aspect", "clock_residual", "differing", "mismatches"]

# What all ranks must agree on, and in which order it is told.
ASPECTS = ("kind", "bytes", "dtype", "root", "reduction")

# MPI's functions in which each rank may give another size.
_UNEVEN = re.compile(r"MPI_I?(all)?(gather|scatter)v", re.IGNORECASE)

# Of one kind of disagreement in a group, so many are told one by one.
_TOLD = 8


@dataclass(frozen=True)
class Mismatch:
    """Where ranks do not agree, or did not finish: `problem` is a word to sort by, `message` names the place."""

    problem: str
    message: str


def aspect(shape: CallShape, name: str) -> Hashable:
    """What a rank's call has of one of ASPECTS; None where ranks need not agree.

    Of torch's all_gather of a list it is what all ranks get, for each may give another size.
    """
    if name == "bytes":
        if shape.op == "allgather_":
            return shape.output_bytes
        return None if shape.kind == "all_to_all" or _UNEVEN.match(shape.op) else shape.num_bytes
    value: Hashable = getattr(shape, name)
    return value


def mismatches(
    recordings: Sequence[Recording], groups: Sequence[Matched], messages: Mapping[MessageChannel, ChannelTraffic]
) -> Iterator[Mismatch]:
    """Everything on which the ranks disagree, of each group what is alike in one line where there is much of it."""
    for recording in recordings:
        for error in recording.errors:
            yield Mismatch("not recorded", f"rank {recording.rank}: {error}")
        for lost in recording.lost:
            yield Mismatch("lost", f"rank {recording.rank}: {lost}")
    for group in groups:
        yield from _incomplete(group)
        yield from _missing(group)
        yield from _different(group)
    for recording in recordings:
        yield from _unreceived(recording)
    yield from _unmatched(messages)
    yield from _unequal(recordings, messages)


def _incomplete(group: Matched) -> Iterator[Mismatch]:
    unfinished = (group.rows != ABSENT) & (group.end == NONE)
    for member in np.flatnonzero(unfinished.any(axis=1)).tolist():
        columns = np.flatnonzero(unfinished[member])
        rank = group.ranks[member]
        for column in columns[:_TOLD].tolist():
            shape = group.catalogue.shapes[group.shape[member, column]]
            place = f"{shape.kind} #{group.sequence[column]} of {group.group.title}"
            yield Mismatch("incomplete", f"rank {rank}: {place} did not end{_at(shape)}")
        if len(columns) > _TOLD:
            more = len(columns) - _TOLD
            yield Mismatch("incomplete", f"rank {rank}: {more} more collectives of {group.group.title} did not end")


def _missing(group: Matched) -> Iterator[Mismatch]:
    """A line for each run of collectives that the same ranks did not issue."""
    if group.complete.all():
        return
    absent = group.rows == ABSENT
    changes = np.flatnonzero((absent[:, 1:] != absent[:, :-1]).any(axis=0)) + 1
    begins = [0, *changes.tolist()]
    runs = [(begin, end) for begin, end in zip(begins, [*begins[1:], len(group.sequence)], strict=True)]
    told = [(begin, end) for begin, end in runs if not group.complete[begin]]
    for begin, end in told[:_TOLD]:
        there = {rank for rank, is_absent in zip(group.ranks, absent[:, begin], strict=True) if not is_absent}
        missing = sorted(set(group.group.ranks) - there)
        more = f" and {end - begin - 1} more to #{group.sequence[end - 1]}" if end - begin > 1 else ""
        message = f"{group.place(begin)}{more}: recorded by ranks {format_ranks(there)}, not by {format_ranks(missing)}"
        yield Mismatch("missing", message)
    if len(told) > _TOLD:
        rest = sum(end - begin for begin, end in told[_TOLD:])
        yield Mismatch("missing", f"{rest} more collectives of group {group.number} ({group.group.title}): so too")


def differing(group: Matched, aspects: Sequence[str] = ASPECTS) -> NDArray[np.int64]:
    """Columns of the collectives that ranks issued differently."""
    values: dict[Hashable, int] = {}
    alike = [
        values.setdefault(tuple(aspect(shape, name) for name in aspects), len(values))
        for shape in group.catalogue.shapes
    ]
    classes = np.array([*alike, ABSENT], dtype=np.int32)[group.shape]
    there = group.rows != ABSENT
    first = classes[there.argmax(axis=0), np.arange(len(group.sequence))]
    return np.flatnonzero((there & (classes != first)).any(axis=0))


def _different(group: Matched) -> Iterator[Mismatch]:
    columns = differing(group)
    for column in columns[:_TOLD].tolist():
        shapes = {
            rank: group.catalogue.shapes[number]
            for rank, number in zip(group.ranks, group.shape[:, column].tolist(), strict=True)
            if number != ABSENT
        }
        for name in ASPECTS:
            values: dict[Hashable, list[int]] = {}
            for rank, shape in shapes.items():
                values.setdefault(aspect(shape, name), []).append(rank)
            if len(values) > 1:
                told = ", ".join(f"{value} on {name_ranks(ranks)}" for value, ranks in values.items())
                yield Mismatch("different", f"{group.place(column)}: {name} is {told}")
    if len(columns) > _TOLD:
        more = f"{len(columns) - _TOLD} more collectives of group {group.number} ({group.group.title})"
        yield Mismatch("different", f"{more} differ between ranks, the last one #{group.sequence[columns[-1]]}")


def _unmatched(messages: Mapping[MessageChannel, ChannelTraffic]) -> Iterator[Mismatch]:
    """Sends without a receive and the other way round."""
    for channel, (sends, receives) in messages.items():
        if len(sends) != len(receives):
            yield Mismatch("unmatched", f"{channel}: {len(sends)} sends, {len(receives)} receives")


def _unreceived(recording: Recording) -> Iterator[Mismatch]:
    """Receives that did not end. Of sends there need be no sign: a program may forget them."""
    is_receive = recording.by_shape(lambda shape: shape.kind == "recv").astype(bool)
    rows = np.flatnonzero(is_receive & (recording.columns.end == NONE))
    for row in rows[:_TOLD].tolist():
        shape, peer = recording.shapes[recording.columns.shape[row]], int(recording.columns.peer[row])
        source = "any rank" if peer == NONE else f"rank {peer}"
        message = f"rank {recording.rank}: recv from {source}, tag {shape.tag}, did not end{_at(shape)}"
        yield Mismatch("incomplete", message)
    if len(rows) > _TOLD:
        more = len(rows) - _TOLD
        yield Mismatch("incomplete", f"rank {recording.rank}: {more} more receives did not end")


def _unequal(recordings: Sequence[Recording], messages: Mapping[MessageChannel, ChannelTraffic]) -> Iterator[Mismatch]:
    for channel, unequal in find_unequal(recordings, messages).items():
        more = f", and {len(unequal) - 1} more differ" if len(unequal) > 1 else ""
        number, sent, received = unequal[0].tolist()
        yield Mismatch("different", f"{channel}: message #{number}: {sent} B sent, {received} B received{more}")


def clock_residual(groups: Sequence[Matched]) -> tuple[int, str]:
    """By how many ns, at worst, a collective seems to end before its last rank began, and which; 0 when none does."""
    worst, where = 0, ""
    for group in groups:
        first_end = np.where(group.end == NONE, np.iinfo(np.int64).max, group.end).min(axis=0)
        seems = np.where(group.complete & group.synchronizing, group.last_start - first_end, 0)
        column = int(seems.argmax())
        if seems[column] > worst:
            worst, where = int(seems[column]), group.place(column)
    return worst, where


def _at(shape: CallShape) -> str:
    return f" ({shape.line})" if shape.line else ""
