"""Takes a stream apart: its last session as JSON records and, of the lines of numbers, as arrays."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.base.reading import read_bytes
from hocket.recording.stream import FORMAT

__all__ = [
    "FIRST",
    "BackwardLine",
    "ClockLine",
    "EndLine",
    "ErrorLine",
    "GroupLine",
    "InternalLine",
    "Meta",
    "OperatorsLine",
    "Session",
    "ShapeLine",
    "StepLine",
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


class GroupLine(msgspec.Struct, tag="group", tag_field="k"):
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


class ClockLine(msgspec.Struct, tag="clock", tag_field="k"):
    t: Time
    offset: Time
    round_trip: Time


class ErrorLine(msgspec.Struct, tag="error", tag_field="k"):
    op: str
    message: str


class OperatorsLine(msgspec.Struct, tag="operators", tag_field="k"):
    problem: str


class EndLine(msgspec.Struct, tag="end", tag_field="k"):
    ok: bool


class _Format(msgspec.Struct):
    format: int = 1


_Record = (
    Meta
    | GroupLine
    | ShapeLine
    | BackwardLine
    | InternalLine
    | StepLine
    | ClockLine
    | ErrorLine
    | OperatorsLine
    | EndLine
)
_DECODER: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)
_GROWTH = 4  # memory that a byte of a stream takes while it is read: its lines are taken apart several times
_FORMAT_DECODER = msgspec.json.Decoder(_Format)
_Kind = TypeVar("_Kind")

# Lines of numbers: how many stand behind each letter.
_WIDTHS = {b"c": 5, b"d": 2, b"w": 4, b"a": 5, b"b": 2, b"s": 2, b"x": 1}
_NUMBERS = re.compile(b"|".join(rb"^%b(?: \d{1,18}){%d}\n" % item for item in _WIDTHS.items()), re.MULTILINE)
_JSON = re.compile(rb"^\{.*\n", re.MULTILINE)
_TORN = re.compile(rb"^[^\n]*\0[^\n]*\n", re.MULTILINE)
_DIGITS = bytes.maketrans(b"cdwabsx", b"0000000")
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
        untorn, torn = _TORN.subn(b"", whole)
        records: list[_Record] = []
        for line in _NUMBERS.sub(b"", untorn).splitlines(keepends=True):
            try:
                if not records:
                    _check_format(path, line)
                records.append(_DECODER.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                number = first_line + whole.count(b"\n", 0, whole.find(line))
                raise FormatError(f"{path}:{number}: not a line of the collector's stream: {error}") from error
        return cls(path, records, _parse_numbers(_JSON.sub(b"", untorn)), torn)

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


def _parse_numbers(lines: bytes) -> dict[str, NDArray[np.int64]]:
    text = np.frombuffer(lines, dtype=np.uint8)
    ends_line = text == ord("\n")
    letters = text[np.concatenate([[True], ends_line[:-1]])] if len(text) else text
    widths: NDArray[Any] = np.zeros(256, dtype=np.int64)
    for letter, width in _WIDTHS.items():
        widths[ord(letter)] = width + 1
    behind = np.cumsum(widths[letters])
    numbers = np.fromstring(lines.translate(_DIGITS).decode("ascii"), dtype=np.int64, sep=" ")
    found = {}
    for letter, width in _WIDTHS.items():
        rows = behind[letters == ord(letter)]
        found[letter.decode()] = numbers[rows[:, None] + np.arange(-width, 0)]
    return found
