"""A rank's part: its head in memory, its calls on disk, read whole or by rows of the table."""

import os
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.recording.calls import CallColumns, CallShape
from hocket.recording.parts.head import PartHead
from hocket.recording.parts.packing import PackedTable
from hocket.recording.parts.writing import FOOTER, MAGIC, TABLE
from hocket.recording.recording import Recording
from hocket.recording.stream_lines import Meta, NcclLine
from hocket.recording.waits import NONE

__all__ = ["Part", "PartSection", "StoredTable", "open_part"]

Numbers = NDArray[np.int64]
_DECODER = msgspec.json.Decoder(PartHead)


@dataclass(frozen=True)
class PartSection:
    """Where a part lies: `size` bytes of a file from `begin` on."""

    path: Path
    begin: int
    size: int

    @classmethod
    def whole(cls, path: Path) -> "PartSection":
        """All of a file. Raises FormatError when it is not there."""
        try:
            return cls(path, 0, path.stat().st_size)
        except OSError as error:
            raise FormatError(f"{path}: {error.strerror}") from error

    def read(self, begin: int, size: int) -> bytes:
        """So many bytes from `begin` of the section on. Raises FormatError when they are not there."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                found = os.pread(file.fileno(), size, self.begin + begin)
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror}") from error
        if len(found) < size:
            raise FormatError(f"{self.path}: it was cut off; copy or merge it anew")
        return found


@dataclass(frozen=True)
class StoredTable:
    """A part's table of calls on disk, by group and number in the group."""

    section: PartSection
    table: PackedTable

    def read(self, begin: int, count: int, names: Collection[str] = TABLE) -> dict[str, Numbers]:
        """The columns `names` of so many rows."""
        dtype = self.table.dtype
        rows = None
        if dtype.itemsize:
            rows = np.frombuffer(self.section.read(begin * dtype.itemsize, count * dtype.itemsize), dtype)
        return self.table.unpack(rows, count, names)


@dataclass(frozen=True, eq=False)
class Part:
    """A rank's recording on disk, by its own clock."""

    section: PartSection
    head: PartHead

    def __len__(self) -> int:
        """The number of calls."""
        return self.head.calls

    @property
    def meta(self) -> Meta:
        return self.head.meta

    @property
    def rank(self) -> int:
        return self.head.meta.rank

    @property
    def boot(self) -> str:
        return self.head.meta.boot

    @property
    def nccl(self) -> NcclLine | None:
        return self.head.nccl

    @property
    def offsets(self) -> tuple[tuple[int, int, int], ...]:
        return self.head.offsets

    @property
    def table(self) -> StoredTable:
        return StoredTable(self.section, self.head.table)

    @cached_property
    def shapes(self) -> tuple[CallShape, ...]:
        """The shapes of its calls."""
        return tuple(shape.shape(self.head.groups) for shape in self.head.shape_heads)

    def begin(self, shift: Callable[[Numbers], Numbers]) -> int:
        """When the recorded part begins (`timeline.window`), `shift` applied; of a rank with calls. A shift never turns
        back: a time's place among the least and the greatest tells its place among all."""
        return int(shift(np.array([*self.head.starts, *self.head.marks], np.int64)).min())

    def load(self) -> Recording:
        """All of it. Raises FormatError where it cannot be read."""
        head, count = self.head, len(self)
        table = self.table.read(0, count)
        row = table["row"]
        places: dict[str, Numbers] = {}
        for name in set(TABLE) - {"row", "sequence", "own", "bounded"}:
            places[name] = np.empty(count, np.int64)
            places[name][row] = table[name]
        sequence = np.full(count, -1)
        for span in head.spans:
            own = slice(span.begin, span.begin + span.count)
            sequence[row[own]] = span.first + np.arange(span.count) if span.consecutive else table["sequence"][own]
        begin = places["begin"]
        others = {name: self._column(name, count) for name in head.columns if not name.startswith("step_")}
        steps = zip(*(self._column(name, head.steps).tolist() for name in ("step_numbers", "step_ends")), strict=True)
        start = begin + places["start"]
        columns = CallColumns(
            shape=places["shape"],
            sequence=sequence,
            step=places["step"],
            issued=start + others["issued"],
            start=start,
            begin=begin,
            end=_behind(begin, places["lasts"]),
            wait_begin=_behind(start, places["wait_begin"]),
            wait_end=_behind(start, others["wait_end"]),
            thread=others["thread"],
            wait_thread=others["wait_thread"],
            peer=others["peer"],
            batch=others["batch"],
        )
        return Recording(
            path=Path(head.path),
            rank=self.rank,
            world=self.meta.world,
            job=self.meta.job,
            boot=self.boot,
            meta=self.meta,
            shapes=self.shapes,
            columns=columns,
            steps=tuple(steps),
            offsets=head.offsets,
            errors=head.errors,
            unseen=head.unseen,
            lost=head.lost,
            no_operators=head.no_operators,
            nccl=head.nccl,
            ended=head.ended,
            failed=head.failed,
            first_step=head.first_step,
            cut=head.cut,
            dropped=head.dropped,
            stepped_ns=head.stepped_ns,
            cost=head.cost,
            cores=head.cores,
            holes=head.holes,
            uncommon=head.uncommon,
            gaps=head.gaps,
        )

    def _column(self, name: str, count: int) -> Numbers:
        stored = self.head.columns[name]
        if not stored.packed.type:
            return stored.packed.unpack(None, count)
        dtype = np.dtype(stored.packed.type)
        return stored.packed.unpack(
            np.frombuffer(self.section.read(stored.begin, count * dtype.itemsize), dtype), count
        )


def _behind(start: Numbers, lasts: Numbers) -> Numbers:
    return np.where(lasts == NONE, NONE, start + lasts)


def open_part(section: PartSection) -> Part:
    """The part there. Raises FormatError for what is no whole one."""
    footer = section.read(max(0, section.size - FOOTER.size), min(section.size, FOOTER.size))
    if len(footer) < FOOTER.size:
        raise FormatError(f"{section.path}: no part of a recording")
    length, checksum, magic = FOOTER.unpack(footer)
    if magic != MAGIC or length > section.size:
        raise FormatError(f"{section.path}: no part of a recording, or of another version of Hocket")
    text = section.read(section.size - FOOTER.size - length, length)
    if zlib.crc32(text) != checksum:
        raise FormatError(f"{section.path}: damaged: its head does not have its checksum; copy or merge it anew")
    return Part(section, _DECODER.decode(text))
