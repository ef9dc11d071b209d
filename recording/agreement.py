"""Where ranks do not agree: collectives that some did not issue, did not finish or issued differently; messages."""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.rank_names import format_ranks, name_ranks
from hocket.recording.calls import CallShape
from hocket.recording.matching import ABSENT, Matched
from hocket.recording.mismatch import Mismatch
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

__all__ = ["ASPECTS", "GroupAgreement", "aspect", "clock_residual", "differing", "unreceived"]

# What all ranks must agree on, and in which order it is told.
ASPECTS = ("kind", "bytes", "dtype", "root", "reduction")

# MPI's functions in which each rank may give another size.
_UNEVEN = re.compile(r"MPI_I?(all)?(gather|scatter)v", re.IGNORECASE)

# Of one kind of disagreement in a group, so many are told one by one.
_TOLD = 8


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


class GroupAgreement:
    """What the ranks of a group disagree on, told of its collectives in order, what is alike in one line where there is
    much of it."""

    def __init__(self) -> None:
        self._checks = (_Incomplete(), _Missing(), _Different())

    def add(self, block: Matched) -> None:
        """Takes in the next collectives."""
        for check in self._checks:
            check.add(block)

    def mismatches(self) -> list[Mismatch]:
        """What was found."""
        return [mismatch for check in self._checks for mismatch in check.mismatches()]


class _Incomplete:
    """Collectives that did not end on a rank."""

    def __init__(self) -> None:
        self._told: dict[int, list[str]] = {}
        self._counts: dict[int, int] = {}
        self._group = ""

    def add(self, block: Matched) -> None:
        unfinished = (block.rows != ABSENT) & (block.end == NONE)
        self._group = block.group.title
        for member in np.flatnonzero(unfinished.any(axis=1)).tolist():
            columns = np.flatnonzero(unfinished[member])
            told = self._told.setdefault(member, [])
            for column in columns[: _TOLD - len(told)].tolist():
                shape = block.catalogue.shapes[block.shape[member, column]]
                place = f"{shape.kind} #{block.sequence[column]} of {block.group.title}"
                told.append(f"rank {block.ranks[member]}: {place} did not end{_at(shape)}")
            self._counts[member] = self._counts.get(member, 0) + len(columns)
        self._ranks = block.ranks

    def mismatches(self) -> Iterator[Mismatch]:
        for member in sorted(self._told):
            for message in self._told[member]:
                yield Mismatch("incomplete", message)
            if self._counts[member] > _TOLD:
                more = f"{self._counts[member] - _TOLD} more collectives of {self._group} did not end"
                yield Mismatch("incomplete", f"rank {self._ranks[member]}: {more}")


@dataclass
class _Run:
    """Collectives that follow one another and that the same ranks did not issue."""

    absent: NDArray[np.bool_]
    place: str
    count: int = 0
    last: int = 0


class _Missing:
    """Runs of collectives that the same ranks did not issue."""

    def __init__(self) -> None:
        self._told: list[Mismatch] = []
        self._rest = 0
        self._open: _Run | None = None

    def add(self, block: Matched) -> None:
        self._block = block
        if self._open is None and block.complete.all():
            return
        absent = block.rows == ABSENT
        changes = np.flatnonzero((absent[:, 1:] != absent[:, :-1]).any(axis=0)) + 1
        begins = [0, *changes.tolist()]
        for begin, end in zip(begins, [*begins[1:], len(block.sequence)], strict=True):
            if self._open is not None and not np.array_equal(self._open.absent, absent[:, begin]):
                self._close()
            if block.complete[begin]:
                continue
            if self._open is None:
                self._open = _Run(absent[:, begin].copy(), block.place(begin))
            self._open.count += end - begin
            self._open.last = int(block.sequence[end - 1])

    def _close(self) -> None:
        run, self._open = self._open, None
        if run is None:
            return
        if len(self._told) == _TOLD:
            self._rest += run.count
            return
        ranks = self._block.ranks
        there = {rank for rank, is_absent in zip(ranks, run.absent.tolist(), strict=True) if not is_absent}
        missing = sorted(set(self._block.group.ranks) - there)
        more = f" and {run.count - 1} more to #{run.last}" if run.count > 1 else ""
        message = f"{run.place}{more}: recorded by ranks {format_ranks(there)}, not by {format_ranks(missing)}"
        self._told.append(Mismatch("missing", message))

    def mismatches(self) -> Iterator[Mismatch]:
        self._close()
        yield from self._told
        if self._rest:
            group = f"group {self._block.number} ({self._block.group.title})"
            yield Mismatch("missing", f"{self._rest} more collectives of {group}: so too")


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


class _Different:
    """Collectives that ranks issued differently."""

    def __init__(self) -> None:
        self._told: list[Mismatch] = []
        self._columns = 0
        self._last = ""

    def add(self, block: Matched) -> None:
        columns = differing(block)
        if len(columns) == 0:
            return
        for column in columns[: max(0, _TOLD - self._columns)].tolist():
            self._told += _differences(block, column)
        self._columns += len(columns)
        self._group = f"group {block.number} ({block.group.title})"
        self._last = f"differ between ranks, the last one #{block.sequence[columns[-1]]}"

    def mismatches(self) -> Iterator[Mismatch]:
        yield from self._told
        if self._columns > _TOLD:
            yield Mismatch("different", f"{self._columns - _TOLD} more collectives of {self._group} {self._last}")


def _differences(block: Matched, column: int) -> Iterator[Mismatch]:
    shapes = {
        rank: block.catalogue.shapes[number]
        for rank, number in zip(block.ranks, block.shape[:, column].tolist(), strict=True)
        if number != ABSENT
    }
    for name in ASPECTS:
        values: dict[Hashable, list[int]] = {}
        for rank, shape in shapes.items():
            values.setdefault(aspect(shape, name), []).append(rank)
        if len(values) > 1:
            told = ", ".join(f"{value} on {name_ranks(ranks)}" for value, ranks in values.items())
            yield Mismatch("different", f"{block.place(column)}: {name} is {told}")


def unreceived(recording: Recording) -> Iterator[Mismatch]:
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


def clock_residual(block: Matched) -> tuple[int, str]:
    """By how many ns, at worst, a collective seems to end before its last rank began, and which; 0 when none does.

    Collectives on devices that some stream did not wait for are passed over: of their times only bounds are known.
    """
    first_end = np.where(block.end == NONE, np.iinfo(np.int64).max, block.end).min(axis=0)
    known = block.complete & block.synchronizing & ~block.bounded
    seems = np.where(known, block.last_start - first_end, 0)
    column = int(seems.argmax())
    return (int(seems[column]), block.place(column)) if seems[column] > 0 else (0, "")


def _at(shape: CallShape) -> str:
    return f" ({shape.line})" if shape.line else ""
