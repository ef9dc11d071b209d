"""The programs a job may run: read and proved before the job starts, found by what a call is."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hocket._core import executor as native
from hocket.base.errors import FormatError, HocketError, placed
from hocket.base.scratch import hand_over
from hocket.base.text import printable
from hocket.runtime.engine.text import index_text, part_text, part_texts
from hocket.schedule import FIFO_DEPTH, Kind, Program, SwitchProgram, execute, execute_switches
from hocket.translator import is_switch_json, read_program, read_switch_program
from hocket.translator.bundle import is_bundle, read_bundle
from hocket.translator.selection.msccl import files_in_order

__all__ = ["Library", "ProgramChoice", "ServedProgram", "read_library", "read_one"]

_SUFFIXES = (".xml", ".json")
#: Why there is no program for an engine that is not the devices'.
_ONLY_OVER_SWITCHES = "its programs are over switches, which the device engine alone runs"


@dataclass(frozen=True, eq=False)
class ServedProgram:
    """A proved program, of connections or over switches, which the device engine alone runs; `name` is its file as
    reports show it, `groups` the ranks of the groups that it is for (none: of any that is as large)."""

    name: str
    program: Program | SwitchProgram
    groups: tuple[tuple[int, ...], ...] = ()

    def describe(self) -> str:
        root = f" from or to rank {self.program.root}" if self.program.kind.rooted else ""
        groups = ""
        if self.groups:
            first = ",".join(map(str, self.groups[0][:8])) + (",..." if len(self.groups[0]) > 8 else "")
            groups = f" of {first}" + (f" and {len(self.groups) - 1} more" if len(self.groups) > 1 else "")
        return f"{self.program.kind} on {self.program.num_ranks} ranks{root}{groups}"

    @property
    def over_switches(self) -> bool:
        return isinstance(self.program, SwitchProgram)

    @property
    def connected(self) -> Program:
        """The program, of connections."""
        assert isinstance(self.program, Program), self.name
        return self.program

    def part(self, rank: int) -> native.Program:
        """What `rank` runs over connections. Raises ScheduleError where its steps do not fit together."""
        return native.Program(part_text(self.connected, rank), self.name)

    def device_part(self, rank: int) -> native.Program | None:
        """Likewise on a device; None where it goes over switches."""
        return None if self.over_switches else self.part(rank)

    def exchanging_part(self, rank: int, in_place: bool) -> native.Program:
        """What `rank` runs over a transport that only sends and receives."""
        return native.Program(part_texts(self.connected, in_place)[rank], self.name)


@dataclass(frozen=True, slots=True)
class ProgramChoice:
    """The algorithm that serves a call, its position, the way with buffers in which it is run, and bytes of a chunk."""

    algorithm: ServedProgram
    number: int
    in_place: bool
    chunk_bytes: int


class Library:
    """Algorithms in the order in which they are looked at."""

    def __init__(self, source: str, algorithms: Sequence[ServedProgram]) -> None:
        self.source = source
        self.algorithms = tuple(algorithms)
        self.native = native.Library(self.index, printable(source))
        self._found: dict[tuple[Kind, int, int, int, int, bool], ProgramChoice | str] = {}

    def of_group(self, ranks: tuple[int, ...]) -> "Library | str":
        """The programs that a group of these ranks of the job may run, those that are made for it first; or why none.
        Ranks that are not known are none of any program's groups."""
        own = [one for one in self.algorithms if ranks in one.groups]
        anybodys = [one for one in self.algorithms if not one.groups]
        if len(anybodys) == len(self.algorithms):
            return self
        if own or anybodys:
            return Library(self.source, [*own, *anybodys])
        others = {group for one in self.algorithms for group in one.groups}
        return f"no program for this group, only for {len(others)} others"

    def of_connections(self) -> "Library | str":
        """The programs that engines for devices are not needed for; or that there is none."""
        found = [one for one in self.algorithms if not one.over_switches]
        if len(found) == len(self.algorithms):
            return self
        return Library(self.source, found) if found else _ONLY_OVER_SWITCHES

    @property
    def index(self) -> str:
        return index_text([algorithm.program for algorithm in self.algorithms])

    @cached_property
    def fingerprint(self) -> int:
        """Equal for equal programs: ranks with different ones cannot work together."""
        checksum = zlib.crc32(self.index.encode())
        for program in (algorithm.program for algorithm in self.algorithms):
            if isinstance(program, SwitchProgram):
                checksum = zlib.crc32(repr((program.thread_blocks, program.runs)).encode(), checksum)
                continue
            for block in (block for gpu in program.gpus for block in gpu.thread_blocks):
                checksum = zlib.crc32(repr((block.send, block.receive, block.channel)).encode(), checksum)
                checksum = zlib.crc32(block.rows.tobytes(), checksum)
        return checksum

    def missing(self, num_ranks: int) -> str | None:
        """Why no call on so many ranks is served, if so."""
        if any(found.program.num_ranks == num_ranks for found in self.algorithms):
            return None
        return self.native.why_none(Kind.ALL_REDUCE, num_ranks, -1)

    def find(
        self, kind: Kind, share_bytes: int, element_bytes: int, num_ranks: int, root: int, in_place: bool | None = None
    ) -> ProgramChoice | str:
        """What serves a call, or why nothing does: the one rule of `hocket::executor::Library`.

        `share_bytes`: of a rank's share of the larger buffer; `element_bytes`: of what is reduced, else 1; `in_place`:
        the call's own way with buffers (None: that of its collective, which all ranks know).
        """
        # a call of torch.distributed or MPI does these in one buffer, which is input and output
        in_place = kind.shares_buffer if in_place is None else in_place
        key = (kind, share_bytes, element_bytes, num_ranks, root, in_place)
        if key not in self._found:
            found = self.native.find(kind, num_ranks, root, share_bytes, element_bytes, in_place)
            self._found[key] = (
                self.native.why_none(kind, num_ranks, root)
                if found is None
                else self._chosen(*found, share_bytes, element_bytes)
            )
        return self._found[key]

    def candidates(self, kind: Kind, num_ranks: int, root: int) -> list[int]:
        """Positions of the programs that a call could run, whatever sizes they are said to be for. `root`: -1 where the
        collective has none."""
        return [
            number
            for number, program in enumerate(algorithm.program for algorithm in self.algorithms)
            if (program.kind, program.num_ranks) == (kind, num_ranks) and (not kind.rooted or program.root == root)
        ]

    def choice(self, number: int, share_bytes: int, element_bytes: int) -> ProgramChoice:
        """The program at that position for a call, in its collective's own way with buffers where it is right for it;
        sizes as in `find`."""
        program = self.algorithms[number].program
        in_place = program.in_place if program.kind.shares_buffer else not program.out_of_place
        return self._chosen(number, in_place, share_bytes, element_bytes)

    def _chosen(self, number: int, in_place: bool, share_bytes: int, element_bytes: int) -> ProgramChoice:
        chunk_bytes = self.native.chunk_bytes(number, share_bytes, element_bytes)
        return ProgramChoice(self.algorithms[number], number, in_place, chunk_bytes)

    def write(self, folder: Path, exchanging: bool) -> None:
        """The files that the engine reads in other processes: `index`, and what rank R does in the program at position
        N, `N.R` (of those over switches, which lie in the wiring, there is none); where it is `exchanging`,
        `N.R.in_place` and `N.R.out_of_place` in rounds, as far as it is right."""
        hand_over(folder / "index", self.index)
        for number, algorithm in enumerate(self.algorithms):
            if algorithm.over_switches:
                continue
            program = algorithm.connected
            for way, is_right in (("in_place", program.in_place), ("out_of_place", program.out_of_place)):
                if exchanging and is_right:
                    for rank, text in enumerate(part_texts(program, way == "in_place")):
                        hand_over(folder / f"{number}.{rank}.{way}", text)
            for rank in range(0 if exchanging else program.num_ranks):
                hand_over(folder / f"{number}.{rank}", part_text(program, rank))


def read_library(source: str, verify: bool = True) -> Library:
    """The proved programs of `source`: bundles, folders of programs (`.xml`, `.json`) or of bundles, and single files,
    separated by colons.

    Raises FormatError for what cannot be read, ScheduleError or DeadlockError for a program that is not right, naming
    the file, and what a proof of it says; what is not to be verified has to be runnable nevertheless.
    """
    places = [Path(text) for text in source.split(":") if text]
    algorithms = [algorithm for place in places for algorithm in _read_place(place, place.parent, verify)]
    if not algorithms:
        raise FormatError(
            f"{source}: holds no program; give a folder that `hocket translate --bundle` wrote, or XML files"
        )
    return Library(source, algorithms)


def _read_place(place: Path, above: Path, verify: bool) -> list[ServedProgram]:
    if place.is_file():
        return [read_one(place, above, None, verify)]
    if is_bundle(place):
        bundle = read_bundle(place)
        paths = [place / file.path for file in bundle.files]
        roots = [bundle.root if path.suffix == ".xml" else None for path in paths]
        return [read_one(path, above, root, verify, bundle.groups) for path, root in zip(paths, roots, strict=True)]
    files = [path for path in files_in_order(place, "executor") if path.suffix in _SUFFIXES]
    bundles = sorted(path for path in place.iterdir() if is_bundle(path))
    return [read_one(path, above, None, verify) for path in files] + [
        algorithm for bundle in bundles for algorithm in _read_place(bundle, above, verify)
    ]


def read_one(
    path: Path, above: Path, root: int | None, verify: bool, groups: tuple[tuple[int, ...], ...] = ()
) -> ServedProgram:
    """A file's program, named from the folder `above`; `root` is an XML's, which does not tell it; `groups` as in
    `ServedProgram`. Errors as `read_library`."""
    if path.suffix == ".json" and is_switch_json(path):
        return _read_switched(path, above, root, verify, groups)
    program = read_program(path, root=root)
    if program.kind is Kind.CUSTOM:
        raise FormatError(f"{path}: a custom collective is none that a job calls; leave the file out")
    if not 0 <= program.root < program.num_ranks:
        raise HocketError(f"{path}: root {program.root} is not one of the ranks 0..{program.num_ranks - 1}")
    try:
        if verify:
            execute(program, fifo_depth=FIFO_DEPTH[program.protocol])
        algorithm = ServedProgram(printable(str(path.relative_to(above))), program, groups)
        for rank in range(program.num_ranks):
            algorithm.part(rank)
    except HocketError as error:
        raise placed(path, error) from error
    return algorithm


def _read_switched(
    path: Path, above: Path, root: int | None, verify: bool, groups: tuple[tuple[int, ...], ...]
) -> ServedProgram:
    """As `read_one`, of a program over switches."""
    if root is not None:
        raise FormatError(f"{path} says its root itself; give none")
    program = read_switch_program(path)
    try:
        if verify:
            execute_switches(program)
    except HocketError as error:
        raise placed(path, error) from error
    return ServedProgram(printable(str(path.relative_to(above))), program, groups)
