"""MSCCL XML as columns: the elements that the runtimes' loaders keep, and their attributes, read as they read them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket._core import translator as engine
from hocket.base.reading import read_bytes

__all__ = ["Document", "ElementTable", "Flaw", "Level", "Stop", "read_document", "read_file", "strtol"]

# C's strtol with base 0: what it takes of a string; everything else it reads as 0.
_GROWTH = 4  # memory that a byte of a file takes: columns of its steps
_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))")
_LONG = 1 << 63


class Level(IntEnum):
    """What an element is to the loaders; `SKIPPED` ones they pass over."""

    ALGORITHM = 0
    GPU = 1
    THREAD_BLOCK = 2
    STEP = 3
    SKIPPED = 4


class Flaw(IntFlag):
    """What the loaders overlook or trip over in an element."""

    CLOSED_BY_OTHER_NAME = 1
    DROPPED_ATTRIBUTES = 2
    HAS_CHILD = 4


class Stop(IntEnum):
    """Why the tokenizer gave up."""

    NONE = 0
    END_OF_FILE = 1
    TEXT_OUTSIDE = 2
    LONG_NAME = 3
    UNQUOTED_VALUE = 4
    VALUE_WITHOUT_ATTRIBUTE = 5
    BROKEN_ELEMENT = 6
    BROKEN_CLOSING = 7
    UNCLOSED = 8


def strtol(text: str) -> tuple[int, bool]:
    """C's `strtol(text, NULL, 0)` on 64 bits, and whether the text is nothing but that number."""
    match = _INTEGER.match(text)
    if match is None:
        return 0, False
    sign, hexadecimal, octal, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (decimal, 10) if decimal else (octal or "0", 8)
    # Python refuses to convert thousands of digits, and 64 bits end long before
    number = _LONG if len(digits) > 64 else int(digits, base)
    number = max(-_LONG, -number) if sign == "-" else min(_LONG - 1, number)
    return number, match.end() == len(text)


def _as_int(numbers: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """What is left of numbers when C stores them in a signed integer of so many bits."""
    half = 1 << (bits - 1)
    return (numbers + half & (1 << bits) - 1) - half


@dataclass(frozen=True, eq=False)
class ElementTable:
    """Elements of one kind: `rows` are their numbers in the file, `parent` positions in the table above (-1: none)."""

    document: "Document"
    rows: NDArray[np.int64]
    parent: NDArray[np.int64]
    _read: dict[tuple[str, int], NDArray[np.int64]] = field(default_factory=dict, repr=False)  # by attribute and bits

    def __len__(self) -> int:
        return len(self.rows)

    def value(self, key: str) -> NDArray[np.int64]:
        """Each element's value of an attribute as a position in `Document.values`; -1: it has none."""
        if (key, 0) not in self._read:
            self._read[key, 0] = self.document.column(key)[self.rows]
        return self._read[key, 0]

    def has(self, key: str) -> NDArray[np.bool_]:
        return self.value(key) >= 0

    def long(self, key: str) -> NDArray[np.int64]:
        """Each element's value as strtol reads it; 0 where there is none."""
        value = self.value(key)
        return np.where(value >= 0, self.document.numbers[value], 0)

    def number(self, key: str, bits: int = 32) -> NDArray[np.int64]:
        """The same, in a C integer of so many bits."""
        if (key, bits) not in self._read:
            self._read[key, bits] = _as_int(self.long(key), bits)
        return self._read[key, bits]

    def text(self, key: str, position: int) -> str:
        """The value of one element, empty where there is none."""
        value = int(self.value(key)[position])
        return self.document.values[value] if value >= 0 else ""

    def among(self, key: str, choices: list[str]) -> NDArray[np.int64]:
        """The position of each element's value in `choices`; -1: it is none of them."""
        positions = {choice: number for number, choice in enumerate(choices)}
        known = np.array([positions.get(text, -1) for text in self.document.values] + [-1], np.int64)
        return known[self.value(key)]

    def flawed(self, flaw: Flaw) -> NDArray[np.bool_]:
        return (self.document.flaws[self.rows] & flaw).astype(bool)

    def below(self, upper: "ElementTable") -> "ElementTable":
        """The elements whose parents are in `upper`, some rows of the table above."""
        position = np.full(len(self.document.level), -1, np.int64)
        position[upper.rows] = np.arange(len(upper))
        parent = position[self.document.parent[self.rows]]
        inside = parent >= 0
        return ElementTable(self.document, self.rows[inside], parent[inside])

    def where(self, mask: NDArray[np.bool_]) -> "ElementTable":
        return ElementTable(self.document, self.rows[mask], self.parent[mask])


@dataclass(frozen=True, eq=False)
class Document:
    """A file of MSCCL XML as all ranks load it. `stop` is not NONE where no loader reads on.

    Of several algorithms the first counts. `gpus`, `blocks`, `steps` are those that some rank keeps (its own `<gpu>`);
    `all_gpus` are all in the algorithm.
    """

    source: str
    content: bytes
    level: NDArray[np.uint8]
    parent: NDArray[np.int64]
    start: NDArray[np.int64]
    flaws: NDArray[np.uint8]
    attribute_element: NDArray[np.int64]
    attribute_key: NDArray[np.int64]
    attribute_value: NDArray[np.int64]
    attributes_by_key: NDArray[np.int64]
    values: list[str]
    column: Callable[[str], NDArray[np.int64]]
    depth: int
    stop: Stop
    stopped_at: int

    @cached_property
    def _read_values(self) -> list[tuple[int, bool]]:
        return [strtol(text) for text in self.values] or [(0, False)]

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """Each of `values` as strtol reads it."""
        return np.array([number for number, _ in self._read_values], np.int64)

    @cached_property
    def are_numbers(self) -> NDArray[np.bool_]:
        """Whether each of `values` is a number and nothing else."""
        return np.array([whole for _, whole in self._read_values], bool)

    def _level(self, level: Level) -> ElementTable:
        rows = np.flatnonzero(self.level == level)
        return ElementTable(self, rows, np.full(len(rows), -1, np.int64))

    @cached_property
    def algorithms(self) -> ElementTable:
        return self._level(Level.ALGORITHM)

    @cached_property
    def algorithm(self) -> ElementTable:
        """The first one, or none."""
        return self.algorithms.where(np.arange(len(self.algorithms)) == 0)

    @cached_property
    def num_ranks(self) -> int:
        return int(self.algorithm.number("ngpus")[0]) if len(self.algorithm) else 0

    @cached_property
    def all_gpus(self) -> ElementTable:
        return self._level(Level.GPU).below(self.algorithm)

    @cached_property
    def gpus(self) -> ElementTable:
        rank = self.all_gpus.number("id")
        return self.all_gpus.where((rank >= 0) & (rank < max(1, self.num_ranks)))

    @cached_property
    def blocks(self) -> ElementTable:
        return self._level(Level.THREAD_BLOCK).below(self.gpus)

    @cached_property
    def steps(self) -> ElementTable:
        return self._level(Level.STEP).below(self.blocks)

    def line(self, at: int) -> int:
        """The line of a byte of the content."""
        return self.content.count(b"\n", 0, at) + 1


def read_document(content: bytes | str, source: str) -> Document:
    """The document in a file's content; `source` names it. Never fails: `Document.stop` says where reading ended."""
    data = content.encode() if isinstance(content, str) else content
    found = engine.read_markup(data)
    strings = [text.decode("utf-8", "backslashreplace") for text in found["strings"]]
    number_of = {text: number for number, text in enumerate(strings)}
    rows = len(found["level"])
    columns: dict[str, NDArray[np.int64]] = {}

    # there are few names of attributes, and those of 16 bits are sorted by counting
    keys = found["key"].astype(np.min_scalar_type(found["key"].max(initial=0)))
    by_key = np.argsort(keys, kind="stable")
    sorted_keys = keys[by_key].astype(np.int64)

    def column(key: str) -> NDArray[np.int64]:
        if key not in columns:
            number = number_of.get(key, -1)
            first, end = np.searchsorted(sorted_keys, [number, number + 1])
            values = np.full(rows, -1, np.int64)
            # of an attribute that is there twice, the first counts
            held = by_key[first:end][::-1]
            values[found["element"][held]] = found["value"][held]
            columns[key] = values
        return columns[key]

    return Document(
        source=source,
        content=data,
        level=found["level"],
        parent=found["parent"],
        start=found["start"],
        flaws=found["flaws"],
        attribute_element=found["element"],
        attribute_key=found["key"].astype(np.int64),
        attribute_value=found["value"].astype(np.int64),
        attributes_by_key=by_key,
        values=strings,
        column=column,
        depth=found["depth"],
        stop=Stop(found["stop"]),
        stopped_at=found["stopped_at"],
    )


def read_file(path: Path | str) -> Document:
    """The document in a file. Raises FormatError, naming it, when it cannot be read."""
    return read_document(read_bytes(path, _GROWTH), str(path))
