"""Takes a stream apart: its last session as JSON records and, of the lines of numbers, as arrays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.base.reading import read_bytes
from hocket.recording.stream import FORMAT

__all__ = [
    "FIRST",
    "REPLAYS",
    "BackwardLine",
    "ClockLine",
    "CoresLine",
    "CostLine",
    "EndLine",
    "ErrorLine",
    "GraphLine",
    "GroupLine",
    "InternalLine",
    "Meta",
    "NcclLine",
    "OperatorsLine",
    "ReplayLine",
    "SegmentLine",
    "Session",
    "ShapeLine",
    "StepLine",
    "UnseenLine",
    "decode_line",
]

Whole = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Time = Annotated[int, msgspec.Meta(gt=-(2**62), lt=2**62)]
Kind = Literal[
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "barrier",
    "send",
    "recv",
]


class Meta(msgspec.Struct, tag="meta", tag_field="k", kw_only=True):
    """First line of a session."""

    rank: int
    world: int
    job: str
    boot: str
    torch: str = ""
    mpi: str = ""
    script: str
    epoch_ns: Time
    perf_ns: Time
    step: Whole
    hook: str
    pid: int = 0
    triggers: bool | None = None


class GroupLine(msgspec.Struct, tag="group", tag_field="k", frozen=True):
    id: int
    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str
    order: int


class ShapeLine(msgspec.Struct, tag="shape", tag_field="k"):
    id: int
    op: str
    group: int
    input_bytes: int = msgspec.field(name="in")
    output_bytes: int = msgspec.field(name="out")
    kind: Kind | None = None
    dtype: str = ""
    is_async: int = msgspec.field(name="async", default=0)
    root: Whole | None = None
    peer: Whole | None = None
    tag: int = 0
    reduce: str | None = None
    in_splits: tuple[int, ...] = ()
    out_splits: tuple[int, ...] = ()
    stream: Time | None = None
    at: str = ""


class SegmentLine(msgspec.Struct, tag="segment", tag_field="k"):
    n: Whole
    t: Time
    part: str = ""
    step: Whole | None = None
    cap: Whole = 0


class BackwardLine(msgspec.Struct, tag="backward", tag_field="k"):
    ids: tuple[Whole, ...]
    t0: Time
    t1: Time
    thread: Whole


class InternalLine(msgspec.Struct, tag="internal", tag_field="k"):
    ids: tuple[Whole, ...]
    t0: Time
    t1: Time
    thread: Whole


class StepLine(msgspec.Struct, tag="step", tag_field="k"):
    n: Whole
    t: Time


class ClockLine(msgspec.Struct, tag="clock", tag_field="k", frozen=True):
    t: Time
    offset: Time
    round_trip: Time


class ErrorLine(msgspec.Struct, tag="error", tag_field="k"):
    op: str
    message: str


class OperatorsLine(msgspec.Struct, tag="operators", tag_field="k"):
    problem: str


class NcclLine(msgspec.Struct, tag="nccl", tag_field="k"):
    folder: str
    problem: str


class CostLine(msgspec.Struct, tag="cost", tag_field="k"):
    calls: Whole
    ns: Whole


class CoresLine(msgspec.Struct, tag="cores", tag_field="k"):
    wall: Whole
    on_core: Whole
    waiting: Whole


class GraphLine(msgspec.Struct, tag="graph", tag_field="k"):
    id: Whole
    shapes: tuple[ShapeLine, ...]
    calls: tuple[tuple[Whole, int], ...]  # of each its shape's place, and its batch or -1


class ReplayLine(msgspec.Struct, tag="replay", tag_field="k"):
    n: Whole
    graph: Whole
    t0: Time
    t1: Time
    thread: Whole
    stream: int | None = None
    calls: Whole = 0
    bases: tuple[tuple[Whole, Whole, Whole], ...] = ()


class UnseenLine(msgspec.Struct, tag="unseen", tag_field="k"):
    what: str


class EndLine(msgspec.Struct, tag="end", tag_field="k"):
    ok: bool
    t: Time = 0
    epoch_ns: Time = 0


class _Format(msgspec.Struct):
    format: int = 1


_Record = (
    Meta
    | SegmentLine
    | GroupLine
    | ShapeLine
    | BackwardLine
    | InternalLine
    | StepLine
    | ClockLine
    | ErrorLine
    | OperatorsLine
    | NcclLine
    | CoresLine
    | CostLine
    | GraphLine
    | ReplayLine
    | UnseenLine
    | EndLine
)
_DECODER: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)
_GROWTH = 4  # memory that a byte of a stream takes while it is read: its lines are taken apart several times
_FORMAT_DECODER = msgspec.json.Decoder(_Format)
_Kind = TypeVar("_Kind")

# Lines of numbers: how many stand behind each letter.
_WIDTHS = {b"c": 5, b"d": 2, b"w": 4, b"a": 5, b"b": 2, b"s": 2, b"x": 1, b"r": 2, b"e": 3, b"v": 3, b"g": 3}
REPLAYS = "g"  # of these the first number is not an operation's
_LONGEST = 18  # digits
_NUMBERS = re.compile(
    b"|".join(rb"^%b(?: \d{1,%d}){%d}\n" % (letter, _LONGEST, width) for letter, width in _WIDTHS.items()),
    re.MULTILINE,
)
_WIDTH_OF = np.zeros(256, dtype=np.int64)
for _letter, _width in _WIDTHS.items():
    _WIDTH_OF[ord(_letter)] = _width
_TORN = re.compile(rb"^[^\n]*\0[^\n]*\n", re.MULTILINE)
_DIGITS = bytes.maketrans(b"cdwabsxrevg", b"00000000000")
FIRST = b'{"k":"meta",'  # so begins a session


@dataclass(frozen=True)
class Session:
    """The last session of a stream: `records` in order, `numbers` of each letter one row a line.

    Of a page that never reached the disk zero bytes are left; `torn` lines with some are not here.
    """

    path: Path
    records: list[_Record]
    numbers: dict[str, NDArray[np.int64]]
    torn: int

    @classmethod
    def read(cls, path: Path) -> "Session":
        """Reads a stream; a killed process leaves its last line torn and zero bytes behind it.

        Raises FormatError naming file and line, also for a stream that another version of Hocket wrote.
        """
        data = read_bytes(path, _GROWTH)
        begin = max(0, data.rfind(b"\n" + FIRST) + 1)
        whole = data[begin : data.rfind(b"\n") + 1]
        if not whole.startswith(FIRST):
            raise FormatError(f"{path}: expected a stream that starts with a line of kind meta")
        first_line = data.count(b"\n", 0, begin) + 1
        untorn, torn = _TORN.subn(b"", whole) if b"\0" in whole else (whole, 0)
        json, lines = _apart(untorn)
        table = _NumberLines.of(lines)
        if table is None:  # some line is none: each is looked at
            json = _NUMBERS.sub(b"", untorn).splitlines(keepends=True)
        records: list[_Record] = []
        for line in json:
            try:
                if not records:
                    _check_format(path, line)
                records.append(_DECODER.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                number = first_line + whole.count(b"\n", 0, whole.find(line))
                raise FormatError(f"{path}:{number}: not a line of the collector's stream: {error}") from error
        assert table is not None, "each line is a record or one of numbers"
        return cls(path, records, table.parsed(lines), torn)

    def numbers_of(self, kept: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> dict[str, NDArray[np.int64]]:
        """The lines of numbers of the operations of which `kept` says so, and of replays, which have numbers of their
        own, all."""
        return {letter: rows if letter == REPLAYS else rows[kept(rows[:, 0])] for letter, rows in self.numbers.items()}

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """The records of a kind."""
        return [record for record in self.records if isinstance(record, kind)]


def decode_line(line: bytes) -> _Record | list[int]:
    """A line by itself: a record or, of a line of numbers, the code of its letter and the numbers.

    Raises ValueError for what is no line of a stream.
    """
    if not line.startswith(b"{") and _NUMBERS.fullmatch(line + b"\n"):
        return [line[0], *map(int, line[2:].split())]
    return _DECODER.decode(line)


def _check_format(path: Path, line: bytes) -> None:
    found = _FORMAT_DECODER.decode(line).format
    if found != FORMAT:
        raise FormatError(
            f"{path}: a stream of format {found}, this version of Hocket reads {FORMAT}: merge it with the version that"
            " recorded it, or record again"
        )


def _apart(text: bytes) -> tuple[list[bytes], bytes]:
    """The lines of JSON, which are few, and all others."""
    json, others, begin = [], [], 0
    while begin < len(text):
        if text.startswith(b"{", begin):
            end = text.index(b"\n", begin) + 1
            json.append(text[begin:end])
        else:
            end = text.find(b"\n{", begin) + 1 or len(text)
            others.append(text[begin:end])
        begin = end
    return json, b"".join(others)


@dataclass(frozen=True)
class _NumberLines:
    """Where in lines of numbers is what: each line's letter and the count of numbers in it and before, the letter being
    one."""

    letters: NDArray[np.uint8]
    behind: NDArray[np.int64]

    @classmethod
    def of(cls, lines: bytes) -> "_NumberLines | None":
        """None where a line is not as `_NUMBERS` has it."""
        text = np.frombuffer(lines, dtype=np.uint8)
        ends, spaces = np.flatnonzero(text == ord("\n")), np.flatnonzero(text == ord(" "))
        begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        letters = text[begins]
        widths = _WIDTH_OF[letters]
        behind = np.cumsum(widths + 1)
        marks = np.flatnonzero((text < ord("0")) | (text > ord("9")))
        right = (
            (widths > 0).all()
            and np.array_equal(np.searchsorted(spaces, ends), behind - np.arange(1, len(ends) + 1))
            # All others are digits, and behind a space are one at least, 18 at most.
            and len(marks) == len(begins) + len(ends) + len(spaces)
            and (text[begins + 1] == ord(" ")).all()
            and _are_apart(marks, text)
        )
        return cls(letters, behind) if right else None

    def parsed(self, lines: bytes) -> dict[str, NDArray[np.int64]]:
        """The numbers of each letter, one row a line."""
        numbers = np.fromstring(lines.translate(_DIGITS).decode("ascii"), dtype=np.int64, sep=" ")
        found = {}
        for letter, width in _WIDTHS.items():
            rows = self.behind[self.letters == ord(letter)]
            found[letter.decode()] = numbers[rows[:, None] + np.arange(-width, 0)]
        return found


def _are_apart(marks: NDArray[np.int64], text: NDArray[np.uint8]) -> bool:
    """Whether each space has 1 to 18 others behind it before the next mark."""
    between = np.diff(marks)[text[marks[:-1]] == ord(" ")]
    return bool(((between > 1) & (between <= _LONGEST + 1)).all())
