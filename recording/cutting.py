"""Cuts recordings of a job that broke off so that they can be replayed: at the last that all ranks have."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from hocket.base.rank_names import name_ranks
from hocket.recording.agreement import differing
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.messages import ChannelTraffic, MessageChannel, find_unequal
from hocket.recording.recording import CallColumns, Recording
from hocket.recording.waits import NONE

__all__ = ["RecordingCut", "cut_recordings"]

# What a replay cannot do without.
_NEEDED = ("kind", "bytes", "root")
_NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class RecordingCut:
    """The last `left_out` calls of a rank are not in its trace: what the first of them is, and why it cannot be."""

    rank: int
    left_out: int
    reason: str

    def text(self) -> str:
        """A line for people."""
        calls = "call is" if self.left_out == 1 else f"{self.left_out} calls are"
        return f"cut: rank {self.rank}: its last {calls} not in its trace, from {self.reason}"


def cut_recordings(
    recordings: Sequence[Recording], groups: Sequence[Matched], messages: Mapping[MessageChannel, ChannelTraffic]
) -> tuple[list[Recording], list[RecordingCut]]:
    """The recordings up to the first collective or message of each rank that another rank with a recording does not
    have, or has differently: what is left has all its partners. What a rank does later may depend on it and goes too,
    and its partners with it.
    """
    kept = {recording.rank: len(recording) for recording in recordings}
    reasons: dict[int, str] = {}

    def shorten(rank: int, row: int, reason: str) -> None:
        if row < kept[rank]:
            kept[rank] = row
            reasons[rank] = reason

    for channel, unequal in find_unequal(recordings, messages).items():
        number = int(unequal[0, 0])
        for rank, rows in zip((channel.source, channel.destination), messages[channel], strict=True):
            reason = f"message #{number} from {channel}, whose ends differ in size"
            shorten(rank, int(rows[number]), reason)
    cutters = [_GroupCutter(group, set(kept)) for group in groups]
    while True:
        before = dict(kept)
        for cutter in cutters:
            for rank, row in cutter.first_unmatched(kept).items():
                shorten(rank, row, cutter.reason)
        for channel, traffic in messages.items():
            _shorten_channel(channel, traffic, kept, shorten)
        if kept == before:
            break
    cuts = [
        RecordingCut(recording.rank, len(recording) - kept[recording.rank], reasons[recording.rank])
        for recording in recordings
        if recording.rank in reasons
    ]
    return [_shortened(recording, kept[recording.rank]) for recording in recordings], cuts


class _GroupCutter:
    """Finds the first collective of a group that does not have all of its partners."""

    def __init__(self, group: Matched, recorded: set[int]) -> None:
        self.reason = ""
        self._group = group
        self._absent = (set(group.group.ranks) & recorded) - set(group.ranks)
        self._rows = np.where(group.rows == ABSENT, _NEVER, group.rows)
        self._differs = np.zeros(len(group.sequence), dtype=bool)
        self._differs[differing(group, _NEEDED)] = True

    def first_unmatched(self, kept: Mapping[int, int]) -> dict[int, int]:
        """For each member the row from which on it must be cut, of those rows that are `kept`; sets `reason`."""
        there = self._rows < np.array([kept[rank] for rank in self._group.ranks])[:, None]
        missing = np.logical_or(~there.all(axis=0), bool(self._absent))
        bad = there.any(axis=0) & (missing | self._differs)
        if not bad.any():
            return {}
        column = int(bad.argmax())
        place = self._group.place(column)
        if missing[column]:
            lacking = [rank for rank, has in zip(self._group.ranks, there[:, column], strict=True) if not has]
            self.reason = f"{place}, which {name_ranks(sorted({*lacking, *self._absent}))} cannot answer"
        else:
            self.reason = f"{place}, which ranks issued differently"
        firsts = self._rows[:, column:].min(axis=1).tolist()
        return dict(zip(self._group.ranks, firsts, strict=True))


def _shorten_channel(
    channel: MessageChannel, traffic: ChannelTraffic, kept: Mapping[int, int], shorten: Callable[[int, int, str], None]
) -> None:
    if channel.source not in kept or channel.destination not in kept:
        return
    ends = ((channel.source, traffic.sends), (channel.destination, traffic.receives))
    counts = [int(np.searchsorted(rows, kept[rank])) for rank, rows in ends]
    for rank, rows in ends:
        if len(rows) > min(counts):
            place = f"message #{min(counts)} from {channel}"
            shorten(rank, int(rows[min(counts)]), f"{place}, which has no partner")


def _shortened(recording: Recording, count: int) -> Recording:
    """The first `count` calls, and what came before the next."""
    if count == len(recording):
        return recording
    columns = {field.name: getattr(recording.columns, field.name)[:count] for field in fields(CallColumns)}
    end = int(recording.columns.start[count])
    later = columns["wait_begin"] >= end
    columns |= {name: np.where(later, NONE, columns[name]) for name in ("wait_begin", "wait_end")}
    steps = tuple((number, time) for number, time in recording.steps if time <= end)
    return replace(recording, columns=CallColumns(**columns), steps=steps)
