"""Cuts recordings of a job that broke off so that they can be replayed: at the last that all ranks have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import name_ranks
from hocket.recording.agreement import differing
from hocket.recording.calls import CallColumns, Group
from hocket.recording.group_calls import GroupCalls
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.messages import ChannelEnd, MessageTraffic
from hocket.recording.parts.part import Part
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["RecordingCut", "RecordingCutter", "lacks_partners", "shortened"]

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


class RecordingCutter:
    """Finds how many calls of each rank can stay: those before its first collective or message that another rank with a
    recording does not have, or has differently. What a rank does later may depend on it and goes too, and its partners
    with it.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.kept = {part.rank: len(part) for part in parts if len(part)}
        self._all = dict(self.kept)
        self._reasons: dict[int, str] = {}

    def cut(self, groups: Sequence[GroupCalls], messages: Sequence[MessageTraffic]) -> None:
        """Cuts until all that is left has its partners. Reads the calls of a group again when one of its ranks was
        cut."""
        for traffic in messages:
            unequal = traffic.unequal()
            if unequal is not None:
                reason = f"message #{unequal.number} from {traffic.channel}, whose ends differ in size"
                for rank, end in traffic.ends:
                    self._shorten(rank, int(_rows(end)[unequal.number]), reason)
        seen: dict[int, list[int]] = {}
        while True:
            before = dict(self.kept)
            for group in groups:
                kept = [self.kept[rank] for rank in group.ranks]
                if seen.get(group.number) != kept:
                    seen[group.number] = kept
                    rows, reason = first_unmatched(group, self.kept)
                    for rank, row in rows.items():
                        self._shorten(rank, row, reason)
            for traffic in messages:
                self._shorten_channel(traffic)
            if self.kept == before:
                break

    def cuts(self) -> list[RecordingCut]:
        """What was cut, by rank."""
        return [
            RecordingCut(rank, self._all[rank] - self.kept[rank], self._reasons[rank])
            for rank in self.kept
            if rank in self._reasons
        ]

    def _shorten(self, rank: int, row: int, reason: str) -> None:
        if row < self.kept[rank]:
            self.kept[rank] = row
            self._reasons[rank] = reason

    def _shorten_channel(self, traffic: MessageTraffic) -> None:
        channel = traffic.channel
        if channel.source not in self.kept or channel.destination not in self.kept:
            return
        whole = all(self.kept[rank] == self._all[rank] for rank in (channel.source, channel.destination))
        if whole and traffic.counts[0] == traffic.counts[1]:
            return
        ends = [(rank, _rows(end)) for rank, end in traffic.ends]
        counts = [int(np.searchsorted(rows, self.kept[rank])) for rank, rows in ends]
        for rank, rows in ends:
            if len(rows) > min(counts):
                place = f"message #{min(counts)} from {channel}"
                self._shorten(rank, int(rows[min(counts)]), f"{place}, which has no partner")


def _rows(end: ChannelEnd | None) -> NDArray[np.int64]:
    return np.empty(0, np.int64) if end is None else end.rows()


def lacks_partners(block: Matched, recorded: Collection[int]) -> bool:
    """Whether some collective is not all ranks' that recorded something, or not alike on all."""
    return bool(_absent(block.group, block.ranks, recorded)) or bool(
        (block.rows == ABSENT).any() or len(differing(block, _NEEDED))
    )


def _absent(group: Group, ranks: Sequence[int], recorded: Collection[int]) -> set[int]:
    """Members that recorded something, but nothing of this group."""
    return (set(group.ranks) & set(recorded)) - set(ranks)


def first_unmatched(group: GroupCalls, kept: Mapping[int, int]) -> tuple[dict[int, int], str]:
    """For each member of a group the row from which on it must be cut, of those rows that are `kept`, and why; nothing
    where all collectives have all of their partners."""
    absent = _absent(group.group, group.ranks, kept)
    limits = np.array([kept[rank] for rank in group.ranks])[:, None]
    firsts, reason = np.full(len(group.ranks), _NEVER), ""
    for block in group.blocks():
        rows = np.where(block.rows == ABSENT, _NEVER, block.rows)
        if not reason:
            there = rows < limits
            missing = np.logical_or(~there.all(axis=0), bool(absent))
            differs = np.zeros(len(block.sequence), dtype=bool)
            differs[differing(block, _NEEDED)] = True
            bad = there.any(axis=0) & (missing | differs)
            if not bad.any():
                continue
            column = int(bad.argmax())
            rows = rows[:, column:]
            if missing[column]:
                lacking = [rank for rank, has in zip(group.ranks, there[:, column], strict=True) if not has]
                reason = f"{block.place(column)}, which {name_ranks(sorted({*lacking, *absent}))} cannot answer"
            else:
                reason = f"{block.place(column)}, which ranks issued differently"
        firsts = np.minimum(firsts, rows.min(axis=1))
    return (dict(zip(group.ranks, firsts.tolist(), strict=True)) if reason else {}), reason


def shortened(recording: Recording, count: int) -> Recording:
    """The first `count` calls, and what came before the next."""
    if count == len(recording):
        return recording
    columns = {field.name: getattr(recording.columns, field.name)[:count] for field in fields(CallColumns)}
    end = int(recording.columns.start[count])
    later = columns["wait_begin"] >= end
    columns |= {name: np.where(later, NONE, columns[name]) for name in ("wait_begin", "wait_end")}
    steps = tuple((number, time) for number, time in recording.steps if time <= end)
    return replace(recording, columns=CallColumns(**columns), steps=steps)
