"""Puts the ranks' calls together: which belong to one collective, as tables of members by sequence number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER, NAMED_KINDS
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.recording import CallShape, Group, GroupKey, Recording
from hocket.recording.waits import NONE

__all__ = ["ABSENT", "SYNCHRONIZING", "Catalogue", "Matched", "Numbering", "match", "number_groups"]

Numbers = NDArray[np.int64]

# Stands in a table where a member issued no such collective.
ABSENT = -1

# Kinds that no rank can leave before all have entered.
SYNCHRONIZING = (*(kind for kind in NAMED_KINDS if not kind.rooted), BARRIER)

# Each group's number in the traces, and the group as the first rank knows it.
Numbering = Mapping[GroupKey, tuple[int, Group]]


class _Key(NamedTuple):
    """What a shape is apart from the group it is called in."""

    op: str
    kind: str
    num_bytes: int
    input_bytes: int
    output_bytes: int
    dtype: str
    root: int | None
    reduction: str | None
    line: str


class Catalogue:
    """Numbers what the shapes of all ranks are apart from their groups; `shapes` has an example of each."""

    def __init__(self) -> None:
        self.shapes: list[CallShape] = []
        self._known: dict[_Key, int] = {}

    def number(self, shape: CallShape) -> int:
        """The number of a shape."""
        sizes = shape.num_bytes, shape.input_bytes, shape.output_bytes
        key = _Key(shape.op, shape.kind, *sizes, shape.dtype, shape.root, shape.reduction, shape.line)
        if key not in self._known:
            self._known[key] = len(self.shapes)
            self.shapes.append(shape)
        return self._known[key]


@dataclass(frozen=True, eq=False)
class Matched:
    """The collectives of a group that some rank recorded.

    A column a collective, of number `sequence` in its group; a row a member that left a recording, `ranks` in group
    order. `rows` tells where among its rank's calls a call stands, ABSENT where there is none; `shape` what it is
    (`catalogue`). `start` and `end` are ns of one clock, NONE where there is none.
    """

    number: int
    group: Group
    catalogue: Catalogue
    ranks: tuple[int, ...]
    sequence: Numbers
    rows: NDArray[np.int32]
    shape: NDArray[np.int32]
    start: Numbers
    end: Numbers

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which collectives all members of the group have issued."""
        everyone = len(self.ranks) == len(set(self.group.ranks))
        complete: NDArray[np.bool_] = (self.rows != ABSENT).all(axis=0) & everyone
        return complete

    @cached_property
    def first_shape(self) -> NDArray[np.int32]:
        """The shape of each collective on the first rank that has it."""
        first = (self.rows != ABSENT).argmax(axis=0)
        shapes: NDArray[np.int32] = self.shape[first, np.arange(len(self.sequence))]
        return shapes

    @cached_property
    def last_start(self) -> Numbers:
        """When the last rank that has it issued each collective."""
        last: Numbers = self.start.max(axis=0)  # NONE is less than any time
        return last

    @cached_property
    def first_start(self) -> Numbers:
        """When the first rank issued each collective."""
        first: Numbers = np.where(self.rows == ABSENT, np.iinfo(np.int64).max, self.start).min(axis=0)
        return first

    @cached_property
    def synchronizing(self) -> NDArray[np.bool_]:
        """Which collectives no rank can leave before all have entered."""
        kinds = [shape.kind in SYNCHRONIZING for shape in self.catalogue.shapes]
        return np.array(kinds, dtype=bool)[self.first_shape]

    def place(self, column: int) -> str:
        """Names a collective: its kind, number and group."""
        kind = self.catalogue.shapes[self.first_shape[column]].kind
        return f"{kind} #{self.sequence[column]} of group {self.number} ({self.group.title})"


def number_groups(recordings: Sequence[Recording]) -> dict[GroupKey, tuple[int, Group]]:
    """Numbers the groups the same on all ranks: 0 the world, the others 1 to n by their members."""
    groups: dict[GroupKey, Group] = {}
    for recording in recordings:
        for used in np.unique(recording.columns.shape).tolist():
            group = recording.shapes[used].group
            groups.setdefault(group.key, group)
    world = (tuple(range(recordings[0].world)), 0)
    others = sorted(key for key in groups if key != world)
    numbered = {key: (number, groups[key]) for number, key in enumerate(others, start=1)}
    return ({world: (0, groups[world])} if world in groups else {}) | numbered


def match(recordings: Sequence[Recording], numbering: Numbering) -> list[Matched]:
    """The collectives of each group, in order of the groups' numbers."""
    catalogue = Catalogue()
    found: dict[int, list[tuple[Recording, Numbers, NDArray[np.int32]]]] = {}
    for recording in recordings:
        catalogued = recording.by_shape(catalogue.number).astype(np.int32)
        is_collective = recording.by_shape(lambda shape: shape.kind not in PEER_TO_PEER).astype(bool)
        numbers = recording.by_shape(lambda shape: numbering[shape.group.key][0])
        for number in np.unique(numbers[is_collective]).tolist():
            rows = np.flatnonzero(is_collective & (numbers == number)).astype(np.int64)
            found.setdefault(number, []).append((recording, rows, catalogued[rows]))
    groups = dict(numbering.values())
    return [_match_group(number, groups[number], catalogue, found[number]) for number in sorted(found)]


def _match_group(
    number: int, group: Group, catalogue: Catalogue, found: Sequence[tuple[Recording, Numbers, NDArray[np.int32]]]
) -> Matched:
    sequences = [recording.columns.sequence[rows] for recording, rows, _ in found]
    sequence = np.unique(sequences[0])
    for other in sequences[1:]:
        if not np.array_equal(other, sequence):
            sequence = np.union1d(sequence, other)
    shape = (len(found), len(sequence))
    all_rows, all_shapes = np.full(shape, ABSENT, np.int32), np.full(shape, ABSENT, np.int32)
    starts, ends = np.full(shape, NONE), np.full(shape, NONE)
    for member, ((recording, rows, shapes), own) in enumerate(zip(found, sequences, strict=True)):
        at = np.searchsorted(sequence, own)
        all_rows[member, at] = rows
        all_shapes[member, at] = shapes
        starts[member, at] = recording.columns.start[rows]
        ends[member, at] = recording.columns.end[rows]
    ranks = tuple(recording.rank for recording, _, _ in found)
    return Matched(number, group, catalogue, ranks, sequence, all_rows, all_shapes, starts, ends)
