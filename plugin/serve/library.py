"""The programs a job may run: read and proved before the job starts, found by what a call is."""

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from hocket._core import executor as engine
from hocket.base.errors import FormatError, HocketError, placed
from hocket.base.units import format_bytes
from hocket.schedule import FIFO_DEPTH, Kind, Program, execute
from hocket.schedule.memory import call_sizes
from hocket.schedule.program import STEP_ROW
from hocket.translator import ProfileName, read_program
from hocket.translator.bundle import is_bundle, read_bundle
from hocket.translator.selection.msccl import RuntimeCall, files_in_order, mismatch

__all__ = ["IN_PLACE", "SHARED", "Library", "ServedProgram", "read_library"]

#: Collectives whose larger buffer holds a share for each rank.
SHARED = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER)
#: Those that a call of torch.distributed does in one buffer, which is input and output.
IN_PLACE = (Kind.ALL_REDUCE, Kind.BROADCAST, Kind.REDUCE)
_ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
_SUFFIXES = (".xml", ".json")
_COLUMNS = tuple(name for name in STEP_ROW.names or () if name != "has_dependents")


@dataclass(frozen=True, eq=False)
class ServedProgram:
    """A proved program; `name` is its file as reports show it."""

    name: str
    program: Program

    def describe(self) -> str:
        root = f" from or to rank {self.program.root}" if self.program.kind in _ROOTED else ""
        return f"{self.program.kind} on {self.program.num_ranks} ranks{root}"

    @property
    def window(self) -> tuple[int, int | None]:
        return self.program.min_bytes, self.program.max_bytes or None

    def chunk_bytes(self, size_bytes: int, element_bytes: int) -> int:
        """Bytes of a chunk when `size_bytes` are cut into the program's chunks, the last of a share rounded up."""
        shares = self.program.num_ranks if self.program.kind in SHARED else 1
        chunks = self.program.chunks_per_loop // shares
        elements = size_bytes // shares // element_bytes
        return -(-elements // chunks) * element_bytes

    def mismatch(self, call: RuntimeCall, element_bytes: int) -> str | None:
        """Why it does not serve a call on its number of ranks; a buffer that its chunks do not divide is padded."""
        program = self.program
        padded = self.chunk_bytes(call.size_bytes, element_bytes) * program.chunks_per_loop
        whole = RuntimeCall(call.kind, padded, call.data_type, call.num_ranks, call.in_place)
        return mismatch(whole, program.in_place, program.out_of_place, self.window, program.chunks_per_loop)

    def part(self, rank: int) -> engine.Program:
        """What `rank` runs. Raises ScheduleError where its steps do not fit together."""
        gpu = self.program.gpus[rank]
        ends = [(block.send, block.receive, block.channel) for block in gpu.thread_blocks]
        peers = {(peer, channel) for send, receive, channel in ends for peer in (send, receive) if peer >= 0}
        endpoints = sorted(peers)
        index = {endpoint: number for number, endpoint in enumerate(endpoints)}
        blocks = [
            (index.get((send, channel), -1), index.get((receive, channel), -1), len(block.steps))
            for (send, receive, channel), block in zip(ends, gpu.thread_blocks, strict=True)
        ]
        steps = [np.stack([block.rows[name].astype(np.int32) for name in _COLUMNS], 1) for block in gpu.thread_blocks]
        return engine.Program(
            np.array([*call_sizes(self.program, rank), gpu.scratch_chunks], np.int64),
            np.array(endpoints, np.int32).reshape(-1),
            np.array(blocks, np.int32).reshape(-1),
            np.concatenate(steps).reshape(-1) if steps else np.zeros(0, np.int32),
        )


class Library:
    """Algorithms in the order in which they are looked at."""

    def __init__(self, source: str, algorithms: tuple[ServedProgram, ...]) -> None:
        self.source = source
        self.algorithms = algorithms
        self._found: dict[tuple[Kind, int, str, int, int], ServedProgram | str] = {}

    @cached_property
    def fingerprint(self) -> int:
        """Equal for equal programs: ranks with different ones cannot work together."""
        checksum = 0
        for program in (algorithm.program for algorithm in self.algorithms):
            checksum = zlib.crc32(
                repr((program.kind, program.root, program.min_bytes, program.max_bytes)).encode(), checksum
            )
            for block in (block for gpu in program.gpus for block in gpu.thread_blocks):
                checksum = zlib.crc32(repr((block.send, block.receive, block.channel)).encode(), checksum)
                checksum = zlib.crc32(block.rows.tobytes(), checksum)
        return checksum

    def missing(self, num_ranks: int) -> str | None:
        """Why no call on so many ranks is served, if so."""
        ranks = sorted({found.program.num_ranks for found in self.algorithms})
        if num_ranks in ranks:
            return None
        return f"no program for {num_ranks} ranks, only for {' and '.join(map(str, ranks))}"

    def find(
        self, kind: Kind, size_bytes: int, data_type: str, element_bytes: int, num_ranks: int, root: int
    ) -> ServedProgram | str:
        """The first algorithm that serves a call of `size_bytes` (the larger buffer of a rank), or why none does.

        Those of the call's own way with buffers, in place or out of place, come first; one of the other way runs on a
        copy. The answer depends on nothing in which the ranks of a call may differ.
        """
        key = (kind, size_bytes, data_type, num_ranks, root)
        if key not in self._found:
            self._found[key] = self._search(kind, size_bytes, data_type, element_bytes, num_ranks, root)
        return self._found[key]

    def _search(
        self, kind: Kind, size_bytes: int, data_type: str, element_bytes: int, num_ranks: int, root: int
    ) -> ServedProgram | str:
        alike = [
            found for found in self.algorithms if found.program.kind is kind and found.program.num_ranks == num_ranks
        ]
        if not alike:
            return f"no program for {kind} on {num_ranks} ranks"
        if kind in _ROOTED:
            alike = [found for found in alike if found.program.root == root]
            if not alike:
                return f"no program for root {root} of {num_ranks} ranks"
        natural = kind in IN_PLACE
        for in_place in (natural, not natural):
            call = RuntimeCall(kind, size_bytes, data_type, num_ranks, in_place)
            for found in alike:
                if found.mismatch(call, element_bytes) is None:
                    return found
        windows = dict.fromkeys(_describe(*found.window) for found in alike)
        return f"no program for this size, only for {', '.join(windows)}"


def _describe(smallest: int, largest: int | None) -> str:
    return f"{format_bytes(smallest)} to {'any size' if largest is None else format_bytes(largest)}"


def read_library(source: str) -> Library:
    """The proved programs of `source`: bundles, folders of programs (`.xml`, `.json`) or of bundles, and single files,
    separated by colons.

    Raises FormatError for what cannot be read, ScheduleError or DeadlockError for a program that is not right, naming
    the file, and what a proof of it says.
    """
    places = [Path(text) for text in source.split(":") if text]
    algorithms = tuple(algorithm for place in places for algorithm in _read_place(place, place.parent))
    if not algorithms:
        raise FormatError(
            f"{source}: holds no program; give a folder that `hocket translate --bundle` wrote, or XML files"
        )
    return Library(source, algorithms)


def _read_place(place: Path, above: Path) -> list[ServedProgram]:
    if place.is_file():
        return [_read(place, above, None)]
    if is_bundle(place):
        bundle = read_bundle(place)
        return [_read(place / file.path, above, bundle.root) for file in bundle.files]
    files = [path for path in files_in_order(place, ProfileName.EXECUTOR) if path.suffix in _SUFFIXES]
    bundles = sorted(path for path in place.iterdir() if is_bundle(path))
    return [_read(path, above, None) for path in files] + [
        algorithm for bundle in bundles for algorithm in _read_place(bundle, above)
    ]


def _read(path: Path, above: Path, root: int | None) -> ServedProgram:
    program = read_program(path, root=root if path.suffix == ".xml" else None)
    if program.kind is Kind.CUSTOM:
        raise FormatError(f"{path}: a custom collective is none that a job calls; leave the file out")
    try:
        execute(program, fifo_depth=FIFO_DEPTH[program.protocol])
        algorithm = ServedProgram(str(path.relative_to(above)), program)
        for rank in range(program.num_ranks):
            algorithm.part(rank)
    except HocketError as error:
        raise placed(path, error) from error
    return algorithm
