"""Columns of whole numbers as few bytes as their range needs."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.recording.waits import NONE

__all__ = ["Packed", "PackedTable", "pack", "pack_table"]

Numbers = NDArray[np.int64]

_TYPES = ("u1", "<u2", "<u4", "<u8")


class Packed(msgspec.Struct, frozen=True):
    """How a column is stored: as `type`, less `low`; the greatest number of the type stands for NONE. A column of one
    number only has no type: it is `low`."""

    low: int
    type: str = ""

    def unpack(self, stored: NDArray[Any] | None, count: int) -> Numbers:
        """The numbers; `stored` is None for a column of one number only."""
        if stored is None:
            return np.full(count, self.low)
        return np.where(stored == np.iinfo(stored.dtype).max, NONE, stored.astype(np.int64) + self.low)


class PackedTable(msgspec.Struct, frozen=True):
    """Columns stored row by row."""

    columns: dict[str, Packed]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the rows."""
        return np.dtype([(name, packed.type) for name, packed in self.columns.items() if packed.type])

    def unpack(self, rows: NDArray[Any] | None, count: int, names: Collection[str]) -> dict[str, Numbers]:
        """The columns `names`, as far as they are there, of `count` rows; None where no column needs any byte."""
        return {
            name: packed.unpack(rows[name] if packed.type and rows is not None else None, count)
            for name, packed in self.columns.items()
            if name in names
        }


def pack(column: Numbers) -> tuple[Packed, NDArray[Any] | None]:
    """How a column is stored, and what; None where it is one number only."""
    there = column[column != NONE]
    if len(there) == 0:
        return Packed(NONE), None
    low, high = int(there.min()), int(there.max())
    if low == high and len(there) == len(column):
        return Packed(low), None
    name = next(name for name in _TYPES if high - low < np.iinfo(name).max)
    with np.errstate(over="ignore"):
        stored = (column - low).astype(name)
    stored[column == NONE] = np.iinfo(name).max
    return Packed(low, name), stored


def pack_table(columns: Mapping[str, Numbers]) -> tuple[PackedTable, NDArray[Any]]:
    """Columns of equal length as a table, and its rows."""
    packed = {name: pack(column) for name, column in columns.items()}
    table = PackedTable({name: how for name, (how, _) in packed.items()})
    rows = np.empty(len(next(iter(columns.values()))) if table.dtype.names else 0, table.dtype)
    for name in table.dtype.names or ():
        rows[name] = packed[name][1]
    return table, rows
