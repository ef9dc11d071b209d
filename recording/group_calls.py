"""A group's collectives out of its members' parts, as many at a time as memory is given for, in order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.recording.alignment import Shift
from hocket.recording.calls import Group
from hocket.recording.matching import ABSENT, Catalogue, Matched
from hocket.recording.parts.head import GroupSpan
from hocket.recording.parts.part import StoredTable
from hocket.recording.waits import NONE

__all__ = ["CELLS", "GroupCalls", "MemberCalls"]

Numbers = NDArray[np.int64]

# Calls that are put together at a time, of all members: each takes about 100 bytes while it is looked at.
CELLS = 1 << 20

_NEEDED = ("row", "shape", "sequence", "step", "begin", "lasts", "own", "bounded")


@dataclass(frozen=True, eq=False)
class MemberCalls:
    """A rank's collectives of one group: where they lie, the number in the catalogue of each of its shapes, what brings
    its times onto the job's clock, whether its script has steps."""

    rank: int
    stored: StoredTable
    span: GroupSpan
    catalogued: NDArray[np.int32]
    shift: Shift
    has_steps: bool

    def read(self, begin: int, count: int) -> dict[str, Numbers]:
        """The columns of so many of its collectives, from the `begin`-th on."""
        columns = self.stored.read(self.span.begin + begin, count, _NEEDED)
        if self.span.consecutive:
            columns["sequence"] = self.span.first + np.arange(begin, begin + count)
        return columns


@dataclass(frozen=True, eq=False)
class GroupCalls:
    """The collectives of a group, `number` in the traces, on disk. `members` ascend by rank."""

    number: int
    group: Group
    catalogue: Catalogue
    members: Sequence[MemberCalls]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The members that left a recording of some."""
        return tuple(member.rank for member in self.members)

    def blocks(self, cells: int = CELLS) -> Iterator[Matched]:
        """All collectives in order, some with consecutive numbers at a time: at most `cells` calls of all members, but
        one collective at least."""
        width = max(1, cells // len(self.members))
        readers = [_Reader(member, width) for member in self.members]
        while any(reader.left for reader in readers):
            begin = min(reader.next for reader in readers if reader.left)
            yield self._put_together([reader.take(begin + width) for reader in readers])

    def _put_together(self, found: Sequence[Mapping[str, Numbers]]) -> Matched:
        sequence = found[0]["sequence"]
        if (sequence[1:] <= sequence[:-1]).any():
            sequence = np.unique(sequence)
        for columns in found[1:]:
            if not np.array_equal(columns["sequence"], sequence):
                sequence = np.union1d(sequence, columns["sequence"])
        shape = (len(found), len(sequence))
        rows, shapes = np.full(shape, ABSENT, np.int32), np.full(shape, ABSENT, np.int32)
        starts, ends, owns = np.full(shape, NONE), np.full(shape, NONE), np.full(shape, NONE)
        step, bounded = sequence.copy(), np.zeros(len(sequence), dtype=bool)
        for at, (member, columns) in enumerate(zip(self.members, found, strict=True)):
            place: Any = slice(None)
            if not np.array_equal(columns["sequence"], sequence):
                place = np.searchsorted(sequence, columns["sequence"])
            begin, lasts = columns["begin"], columns["lasts"]
            rows[at, place] = columns["row"]
            shapes[at, place] = member.catalogued[columns["shape"]]
            starts[at, place] = member.shift(begin)
            ended = lasts != NONE
            end = begin + np.where(ended, lasts, 0)
            ends[at, place] = np.where(ended, member.shift(end), NONE)
            owns[at, place] = member.shift.of_spans(begin, columns["own"])  # from where a device tells, its begin
            bounded[place] |= columns["bounded"] > 0
            if member.has_steps:
                step[place] = columns["step"]
        members = self.number, self.group, self.catalogue, self.ranks
        return Matched(*members, sequence, rows, shapes, starts, ends, owns, step, bounded)


@dataclass(eq=False)
class _Reader:
    """Goes through a member's collectives by their numbers; `next` is the number of the next one while some are
    `left`."""

    member: MemberCalls
    width: int
    _place: int = 0
    _ahead: dict[str, Numbers] = field(default_factory=dict)

    @property
    def left(self) -> bool:
        return self._place < self.member.span.count or self._known > 0

    @property
    def _known(self) -> int:
        """Rows that were read and not taken, where numbers have gaps."""
        return len(self._ahead["sequence"]) if self._ahead else 0

    @property
    def next(self) -> int:
        if self.member.span.consecutive:
            return self.member.span.first + self._place
        if not self._known:
            self._read_on()
        return int(self._ahead["sequence"][0])

    def take(self, end: int) -> dict[str, Numbers]:
        """Those of numbers below `end`."""
        span = self.member.span
        if span.consecutive:
            count = min(span.count, max(0, end - span.first)) - self._place
            found = self.member.read(self._place, max(0, count))
            self._place += max(0, count)
            return found
        while self._place < span.count and (not self._known or self._ahead["sequence"][-1] < end):
            self._read_on()
        if not self._ahead:
            return self.member.read(0, 0)
        count = int(np.searchsorted(self._ahead["sequence"], end))
        found = {name: column[:count] for name, column in self._ahead.items()}
        self._ahead = {name: column[count:] for name, column in self._ahead.items()}
        return found

    def _read_on(self) -> None:
        count = min(self.width, self.member.span.count - self._place)
        more = self.member.read(self._place, count)
        self._place += count
        self._ahead = {
            name: np.concatenate([self._ahead[name], column]) if self._known else column
            for name, column in more.items()
        }
