"""The ranks' calls put together: which belong to one collective, as tables of members by sequence number."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import BARRIER, NAMED_KINDS
from hocket.recording.calls import CallShape, Group, GroupKey

__all__ = ["ABSENT", "Catalogue", "Matched", "Numbering", "number_groups"]

Numbers = NDArray[np.int64]

_COLUMNS = ("sequence", "step", "rows", "shape", "start", "end", "own", "bounded")

# Stands in a table where a member issued no such collective.
ABSENT = -1

# Kinds that no rank can leave before all have entered.
_SYNCHRONIZING = (*(kind for kind in NAMED_KINDS if not kind.rooted), BARRIER)

# MPI's functions in which a rank may have nothing for another, of which only the sum is known.
_PARTS_UNKNOWN = re.compile(r"MPI_I?alltoall[vw]", re.IGNORECASE)

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
    """Some collectives of a group that follow one another, those that some rank recorded.

    A column a collective, of number `sequence` in its group; a row a member that left a recording, `ranks` in group
    order. `rows` tells where among its rank's calls a call stands, ABSENT where there is none; `shape` what it is
    (`catalogue`). `start` (where a device tells, when it began there) and `end` are ns of one clock, NONE where there
    is none; `own` is how long the rank's host had been at its own work at the issue, since its last wait
    (`Recording.own_work`). `step` is each collective's training step, or its number where the job marks none. Of those
    that are `bounded` some rank's device did not tell the end.
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
    own: Numbers
    step: Numbers
    bounded: NDArray[np.bool_]

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
        """Which collectives no rank can leave before all have entered: those of a kind that needs all ranks' data, in
        which every rank has some and there is another."""
        meets = np.array([*map(_meets, self.catalogue.shapes), True], dtype=bool)  # ABSENT is the last
        several = len(set(self.group.ranks)) > 1
        synchronizing: NDArray[np.bool_] = np.logical_and(meets[self.shape].all(axis=0), several)
        return synchronizing

    def place(self, column: int) -> str:
        """Names a collective: its kind, number and group."""
        kind = self.catalogue.shapes[self.first_shape[column]].kind
        return f"{kind} #{self.sequence[column]} of group {self.number} ({self.group.title})"

    def part(self, columns: slice) -> "Matched":
        """Some of the collectives."""
        tables: dict[str, Any] = {name: getattr(self, name)[..., columns] for name in _COLUMNS}
        return replace(self, **tables)

    def followed_by(self, other: "Matched") -> "Matched":
        """With the next collectives of the same group."""
        tables: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)], axis=-1) for name in _COLUMNS
        }
        return replace(self, **tables)


def _meets(shape: CallShape) -> bool:
    """Whether this rank gives something to all and gets something from all."""
    if shape.kind == BARRIER:
        return True
    has_data = shape.input_bytes > 0 and shape.output_bytes > 0 and 0 not in shape.in_splits
    return shape.kind in _SYNCHRONIZING and has_data and not _PARTS_UNKNOWN.match(shape.op)


def number_groups(groups: Iterable[Group], world: int) -> dict[GroupKey, tuple[int, Group]]:
    """Numbers the groups the same on all ranks: 0 the `world`, the others 1 to n by their members. Of `groups` with one
    key the first counts."""
    known: dict[GroupKey, Group] = {}
    for group in groups:
        known.setdefault(group.key, group)
    everyone = (tuple(range(world)), 0)
    others = sorted(key for key in known if key != everyone)
    numbered = {key: (number, known[key]) for number, key in enumerate(others, start=1)}
    return ({everyone: (0, known[everyone])} if everyone in known else {}) | numbered
