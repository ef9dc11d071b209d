"""The table that nccl-tests and rccl-tests print, of old and new versions, and `hocket run`'s, which is alike.

A file may hold several runs, each from its header to its footer; what other programs print between the lines is passed
over, but for NCCL's own log, which tells what it chose. Lines may begin with what a launcher put there: a rank (`0: `,
`[0] `, `[1,0]<stdout>:`) or a time stamp.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hocket.base.collectives import bus_factor
from hocket.base.element_types import ELEMENT_TYPES, element_type, nccl_types
from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest
from hocket.calibration.measurement import Assumed, Measurement, kind_named
from hocket.calibration.readers.nccl_lines import NcclLines
from hocket.calibration.readers.printed import Printed, PrintedRow, check_row, whole
from hocket.nccl.releases import version_of_code
from hocket.schedule import Kind

__all__ = ["is_nccl_tests", "read_nccl_tests"]

_PREFIX = re.compile(
    r"\s*(?:\[\d+,\d+\]<std\w+>:|\d+:(?=\s)|\[\d+\](?=\s)|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?(?=\s))"
)
_RANK = re.compile(r"#\s+Rank\s+(\d+)\s.*\bon\s+(\S+)\s+device\b(?:[^\[]*\[[^\]]*\]\s*(.*\S))?")
_NAME = re.compile(r"# Collective test (starting|concluded): (\S+)")
_OWN = re.compile(r"# .*: (\w+) on (\d+) (?:gloo|mpi|nccl) ranks\b")
_VERSION = re.compile(r"# (?:nccl-tests version|hocket selftest,) (?:.* )?nccl-library=(\d{4,6})\b")
_WRONG = re.compile(r"# Out of bounds values\s*:\s*(\d+)")
_FOOTER = re.compile(r"# Avg bus bandwidth\s*:")
_NAMES = re.compile(r"#\s+size\s+count\s")
_UNITS = re.compile(r"#\s+\(B\)\s")

_HEAD = ("size", "count", "type", "redop", "root")
_UNIT = {"size": "(B)", "count": "(elements)", "time": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
_UNIT |= {"i_min": "(us)", "i_max": "(us)", "i_p99": "(us)", "i_cv%": "(%)"}
_KNOWN = {*_HEAD, *_UNIT, "#wrong", "error", "timestamp"}
_NOT_REDUCING = ("none", "")


def is_nccl_tests(text: str) -> bool:
    """Whether the text has such a table's header."""
    return any(_NAMES.match(_PREFIX.sub("", line).lstrip()) for line in text.splitlines())


def read_nccl_tests(text: str, source: str, assumed: Assumed, *, partial: bool = False) -> tuple[Measurement, ...]:
    """The rows of all runs; those of one that was cut off only with `partial`.

    Raises FormatError, naming file and line, for a run that is cut off or mixed with another, columns or units that are
    not known, numbers that do not agree, wrong results, and what neither the file nor `assumed` says.
    """
    run = _Run(source, assumed)
    found: list[Measurement] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        place = f"{source}:{number}"
        line = run.nccl.without(_strip(raw), run.hosts, place)
        if line.startswith("#"):
            found += run.comment(line, place)
        elif run.in_table and line[:1].isdigit():
            run.row(line.split(), place)
    if run.in_table:
        if not partial:
            raise FormatError(
                f"{source}: the run of line {run.first} has no '# Avg bus bandwidth' at its end: it was cut off;"
                " let it finish, or take the lines that are there with --partial"
            )
        found += run.finish(f"{source}:{number}")
    if not found:
        raise FormatError(f"{source}: a header but no results: the run ended before its first size; run it again")
    return tuple(found)


def _strip(line: str) -> str:
    """The line without what launchers put before it, unless it is a row itself."""
    while match := _PREFIX.match(line):
        line = line[match.end() :]
    return line.strip()


@dataclass
class _Line:
    head: list[str]
    out_of_place: list[str]
    in_place: list[str]
    place: str


@dataclass
class _Run:
    """What is known of the run whose lines are being read."""

    source: str
    assumed: Assumed
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    nccl: NcclLines = field(default_factory=NcclLines)
    version: str | None = None
    kind: str | None = None
    own_ranks: int | None = None
    columns: list[str] = field(default_factory=list)
    has_units: bool = False
    lines: list[_Line] = field(default_factory=list)
    first: int = 0
    in_table: bool = False

    def comment(self, line: str, place: str) -> Iterator[Measurement]:
        """A line that begins with #; the measurements of the run where it is its footer."""
        if rank := _RANK.match(line):
            self._begin(place)
            self.ranks.add(int(rank[1]))
            self.hosts.add(rank[2])
            self.devices |= {rank[3]} - {None}
        elif version := _VERSION.match(line):
            self._begin(place)
            self.version = version_of_code(int(version[1]))
        elif name := _NAME.match(line):
            if name[1] == "starting":
                self._begin(place)
                self.ranks, self.hosts, self.devices, self.nccl = set(), set(), set(), NcclLines()
                self.kind = kind_named(name[2], place)
            elif self.kind is not None and kind_named(name[2], place) != self.kind:
                raise FormatError(f"{place}: ends a run of {name[2]}, in a run of {self.kind}: two outputs are mixed")
        elif own := _OWN.match(line):
            self.kind, self.own_ranks = kind_named(own[1], place), int(own[2])
        elif _NAMES.match(line):
            self._header(line, place)
        elif _UNITS.match(line):
            self._units(line, place)
        elif wrong := _WRONG.match(line):
            if int(wrong[1]):
                raise FormatError(
                    f"{place}: {wrong[1]} wrong values: what computes wrongly is not calibrated; repair it"
                )
        elif _FOOTER.match(line) and self.in_table:
            yield from self.finish(place)

    def row(self, tokens: list[str], place: str) -> None:
        """A line of results."""
        if not self.has_units:
            raise FormatError(f"{place}: results before the header's line of units, (B) (elements) ... (us): keep it")
        head = [name for name in self.columns if name in _HEAD]
        width = len(self.columns) - len(head)
        stamped = self.columns[-1] == "timestamp"
        half = (width - stamped) // 2
        if stamped and len(tokens) > 2:
            tokens = tokens[:-2]  # a day and an hour
        # versions with `error` leave redop and root blank where they mean nothing
        least = len(head) - ("error" in self.columns) * sum(name in ("redop", "root") for name in head)
        if not least <= len(tokens) - 2 * half <= len(head):
            raise FormatError(
                f"{place}: {len(tokens)} fields where the header has {len(head) + 2 * half}: the line is cut off, or"
                " another program wrote into it; take it out or run again"
            )
        start = len(tokens) - 2 * half
        line = _Line(tokens[:start], tokens[start : start + half], tokens[start + half :], place)
        size = whole(line.head[0], place, "size")
        count = whole(line.head[1], place, "count")
        if self.lines and size <= int(self.lines[-1].head[0]) and size != int(self.lines[0].head[0]):
            raise FormatError(
                f"{place}: size {size} after {self.lines[-1].head[0]}: two outputs are mixed; give each its own file"
            )
        element = element_type(line.head[2])
        if element is None:
            known = (ELEMENT_TYPES[name].nccl for name in nccl_types())
            raise FormatError(f"{place}: unknown data type '{line.head[2]}'; {nearest(line.head[2], known)}")
        if count and size % (count * element.num_bytes):
            raise FormatError(f"{place}: {count} x {line.head[2]} do not make {size} B: the line is damaged")
        self.lines.append(line)

    def finish(self, place: str) -> list[Measurement]:
        """The run's measurements; the next line is none of it."""
        self.in_table, lines, self.lines = False, self.lines, []
        found = []
        ranks, nodes = self._machine(place)
        kind = self.kind or self.assumed.kind or (_guess(lines[-1], ranks) if lines else "")
        factor = bus_factor(kind, ranks) if lines else 0.0
        columns = [name for name in self.columns if name not in _HEAD]
        run, self.version = self.nccl.run(self.devices, self.version), None
        choices = self.nccl.choices(kind, ranks, run, place)
        for line in lines:
            choice = choices(int(line.head[0]))
            for cells, in_place in ((line.out_of_place, False), (line.in_place, True)):
                row = _half(columns, cells, line, factor)
                if row is not None:
                    measured = kind, ranks, nodes, row.size_bytes, row.time_ps, in_place, line.place
                    found.append(Measurement(*measured, choice=choice, run=run))
        return found

    def _begin(self, place: str) -> None:
        if self.in_table:
            raise FormatError(
                f"{place}: another run begins before that of line {self.first} has its '# Avg bus bandwidth': it was"
                " cut off, or two outputs are mixed; give each its own file"
            )

    def _header(self, line: str, place: str) -> None:
        self._begin(place)
        names = line[1:].split()
        for name in names:
            if name == "cputime":
                raise FormatError(
                    f"{place}: column cputime: the processor's time is not the collective's; run without -C"
                )
            if name not in _KNOWN:
                raise FormatError(f"{place}: unknown column '{name}'; {nearest(name, _KNOWN)}")
        head = [name for name in names if name in _HEAD]
        rest = names[len(head) :]
        body = rest[:-1] if rest[-1:] == ["timestamp"] else rest
        half = body[: len(body) // 2]
        if names[: len(head)] != head or half != body[len(half) :] or half[:3] != ["time", "algbw", "busbw"]:
            raise FormatError(
                f"{place}: columns {' '.join(names)}: expected {' '.join(_HEAD)}, then time algbw busbw #wrong twice"
            )
        self.columns, self.has_units, self.in_table = names, False, True
        self.first = int(place.rpartition(":")[2])

    def _units(self, line: str, place: str) -> None:
        expected = [_UNIT[name] for name in self.columns if name in _UNIT]
        units = [token for token in line[1:].split() if token.startswith("(")]
        if units != expected:
            raise FormatError(f"{place}: units {' '.join(units)}: expected {' '.join(expected)} for these columns")
        self.has_units = True

    def _machine(self, place: str) -> tuple[int, int]:
        if self.ranks and self.ranks != set(range(len(self.ranks))):
            raise FormatError(f"{place}: the ranks of this run are not 0..{len(self.ranks) - 1}: its header is cut off")
        ranks = self.own_ranks or len(self.ranks) or self.assumed.ranks
        nodes = len(self.hosts) or self.assumed.nodes or (1 if self.own_ranks else None)
        if ranks is None or nodes is None:
            raise FormatError(f"{place}: no '#  Rank 0 ... on HOST' lines: say --ranks and --nodes of this run")
        if ranks < 2:
            raise FormatError(f"{place}: a run of one rank moves nothing over a network: take one of two or more")
        return ranks, nodes


def _guess(line: _Line, ranks: int) -> str:
    """The collective of a run that does not say it: what busbw / algbw of its largest reduction tells."""
    redop = next((token for token in line.head[3:] if not token.lstrip("-").isdigit()), "")
    algbw, busbw = (Printed.of(line.out_of_place[at], line.place, "bandwidth").value for at in (1, 2))
    if redop not in _NOT_REDUCING and ranks > 2 and algbw >= 1:
        for guess in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.REDUCE):
            if abs(busbw / algbw / bus_factor(guess, ranks) - 1) < 0.02:
                return guess.value
    raise FormatError(f"{line.place}: the output does not say which collective this is: say --collective")


def _half(columns: list[str], cells: list[str], line: _Line, factor: float) -> PrintedRow | None:
    """One half of a line; nothing where it was not measured, or moved nothing."""
    if cells[0] == "N/A":
        return None
    printed = [
        Printed.of(cell, line.place, name) for cell, name in zip(cells, ("time", "algbw", "busbw"), strict=False)
    ]
    row = PrintedRow(int(line.head[0]), *printed)
    wrong = cells[columns.index("#wrong")] if "#wrong" in columns else "N/A"
    if wrong not in ("0", "N/A"):
        raise FormatError(f"{line.place}: {wrong} wrong values: what computes wrongly is not calibrated; repair it")
    if row.size_bytes == 0:
        return None
    check_row(row, factor, line.place)
    return row
