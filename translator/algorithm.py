"""Algorithms written by hand: which chunk is copied where and added to what, one call after the other.

The calls are followed as they are made, with every rank's contributions to every chunk, so what cannot be right is
refused at the line of Python that says it. They go through the same ordering, lowering and proof as schedules.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from types import TracebackType

import numpy as np

from hocket.base.collectives import NAMED_KINDS
from hocket.base.errors import ScheduleError
from hocket.schedule import BUFFERS, Gpu, Kind, Program
from hocket.schedule.memory import Memory, call_sizes, lay_out
from hocket.topology import Topology
from hocket.translator.lowering.fitting import fit
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.lowering.messages import Messages
from hocket.translator.lowering.placement import LocalCopy
from hocket.translator.lowering.proving import Translated
from hocket.translator.lowering.strategies import predictor, quickest, rounds
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile

__all__ = ["Algorithm", "Chunk"]

_Place = tuple[int, str, int]  # rank, buffer, offset
_Value = frozenset[tuple[int, int]]  # chunk and rank of each contribution
_NAMES = {"input": "i", "output": "o", "scratch": "s"}


@dataclass(frozen=True, slots=True)
class _Step:
    source: _Place
    target: _Place
    count: int
    reduce: bool
    channel: int


class Algorithm:
    """A collective of `chunks` chunks (the whole buffer, numbered as in `hocket.schedule.Collective`) on `ranks` ranks.

    In an in-place call input and output are one buffer, and either name says it. Scratch is as large as it is used.

        with Algorithm(Kind.ALL_GATHER, ranks=4, chunks=4) as ring:
            for first in range(4):
                chunk = ring.chunk(first, "output", first)
                for step in range(1, 4):
                    chunk = chunk.copy((first + step) % 4, "output", first)

    At the end of the block, or when `lower` is called, every rank must hold what the collective wants.
    All methods, and those of `Chunk`, raise ScheduleError naming file, line and reason.
    """

    def __init__(
        self, kind: Kind | str, ranks: int, chunks: int, *, in_place: bool = True, root: int = 0, name: str = "by_hand"
    ) -> None:
        if kind not in NAMED_KINDS:
            raise _error(f"no collective '{kind}' whose result is known; there are all_reduce, all_gather, ...")
        if ranks < 1 or chunks < 1 or not 0 <= root < ranks:
            raise _error(f"{ranks} ranks, {chunks} chunks, root {root}: at least one of each, and the root among them")
        empty = (Gpu(0, 0, 0, ()),) * ranks
        bare = Program(name, Kind(kind), chunks, 0, "Simple", in_place, not in_place, 0, 0, empty, root)
        buffers = [call_sizes(bare, rank) for rank in range(ranks)]
        self._shape = replace(bare, gpus=tuple(Gpu(*sizes, 0, ()) for sizes in buffers))
        self._memory: Memory = lay_out(self._shape, in_place)
        self._canonical: dict[_Place, _Place] = {}
        self._at: dict[int, _Place] = {}  # by location in the memory
        for rank, sizes in enumerate(buffers):
            # the larger of two buffers that share their memory has all of it
            for size, buffer in sorted(zip(sizes, "io", strict=True), key=lambda pair: -pair[0]):
                base = int(self._memory.base[rank, BUFFERS.index(buffer)])
                for offset in range(size):
                    place = (rank, buffer, offset)
                    self._canonical[place] = self._at.setdefault(base + offset, place)
        self._values: dict[_Place, _Value] = {
            place: frozenset({(chunk, place[0])})
            for location, place in self._at.items()
            if (chunk := int(self._memory.initial[location])) >= 0
        }
        self._written: dict[_Place, tuple[int, str]] = {}  # how often, and the last time where
        self._steps: list[_Step] = []

    def __enter__(self) -> "Algorithm":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.check()

    def chunk(self, rank: int, buffer: str, index: int, count: int = 1) -> "Chunk":
        """`count` chunks of a rank's `input`, `output` or `scratch` from `index` on, as they are now."""
        return Chunk(self, self._places(rank, buffer, index, count), tuple(self._versions(rank, buffer, index, count)))

    def check(self) -> None:
        """Raises ScheduleError, naming the line that wrote it last, for a place that does not hold what it must."""
        everyone = range(self._shape.num_ranks)
        for location, chunk, source in self._memory.wanted.tolist():
            place = self._at[location]
            wanted = frozenset((chunk, rank) for rank in (everyone if source < 0 else [source]))
            found = self._values.get(place, frozenset())
            if found != wanted:
                whose = "every rank" if source < 0 else f"rank {source}"
                line = self._written[place][1] if place in self._written else f"{self._shape.name}, never written"
                kept = (
                    " (out of place the input stays as it was)" if self._shape.out_of_place and place[1] == "i" else ""
                )
                raise ScheduleError(
                    f"{line}: {_name(place)} must hold chunk {chunk} of {whose}{kept}, but {_difference(found, wanted)}"
                )

    def lower(
        self,
        profile: str | Profile,
        lowering: Lowering | None = None,
        *,
        topology: Topology | None = None,
        size_bytes: int = 0,
    ) -> Translated:
        """The algorithm as a proved program for one runtime. Where `lowering` leaves a choice, the plainest; on a
        `topology` the quickest, by simulation of a call of `size_bytes` (0: the largest that the program is for).

        Raises the errors of `hocket.translator.lower_best`, and ScheduleError for other calls than it was written for,
        or where nobody says the size.
        """
        self.check()
        chosen, asked = find_profile(profile), lowering or Lowering()
        if asked.in_place not in (None, self._shape.in_place):
            calls = "in-place" if self._shape.in_place else "out-of-place"
            raise _error(f"{self._shape.name} was written for {calls} calls, and is for no others")
        shape = replace(self._shape, name=self._shape.name if asked.name is None else asked.name)
        messages, local = self._operations()

        def lowered(strategy: Strategy) -> Program:
            return fit(shape, messages, local, chosen, asked, strategy)

        if topology is None:
            return quickest(chosen, rounds([asked.plainest], asked), lowered, lambda _: 0)
        size = size_bytes or asked.max_bytes
        if size == 0:
            raise _error("the quickest way depends on the size: give size_bytes, or Lowering(max_bytes=)")
        predict = predictor(chosen, topology, size)
        tried = rounds(asked.strategies(priced=chosen.is_priced), asked)
        return quickest(chosen, tried, lowered, predict, predict.least_ps)

    def _operations(self) -> tuple[Messages, list[LocalCopy]]:
        """The steps in the order they were asked for."""
        rows: list[tuple[int, ...]] = []
        local: list[LocalCopy] = []
        for at, step in enumerate(self._steps):
            (src, src_buffer, src_offset), (dst, dst_buffer, dst_offset) = step.source, step.target
            places = BUFFERS.index(src_buffer), src_offset, BUFFERS.index(dst_buffer), dst_offset
            if src == dst:
                local.append(LocalCopy(src, *places, step.count, 2 * at, step.reduce))
            else:
                rows.append((src, dst, step.channel, 2 * at, 2 * at + 1, step.reduce, step.count, *places))
        names = [field.name for field in fields(Messages)]
        columns = dict(zip(names, np.array(rows, np.int64).reshape(-1, len(names)).T, strict=True))
        return Messages(**{**columns, "reduce": columns["reduce"].astype(bool)}), local

    def _places(self, rank: int, buffer: str, index: int, count: int) -> tuple[_Place, ...]:
        if not 0 <= rank < self._shape.num_ranks:
            raise _error(f"rank {rank} is not one of 0 to {self._shape.num_ranks - 1}")
        if buffer not in _NAMES:
            raise _error(f"no buffer '{buffer}'; buffers: {', '.join(_NAMES)}")
        places = [(rank, _NAMES[buffer], offset) for offset in range(index, index + count)]
        if index < 0 or count < 1 or (buffer != "scratch" and places[-1] not in self._canonical):
            size = sum(place[:2] == (rank, _NAMES[buffer]) for place in self._canonical)
            raise _error(f"{count} chunks from {index} on: the {buffer} of rank {rank} has {size}")
        return tuple(self._canonical.get(place, place) for place in places)

    def _versions(self, rank: int, buffer: str, index: int, count: int) -> Iterable[int]:
        return (self._written.get(place, (0, ""))[0] for place in self._places(rank, buffer, index, count))

    def _read(self, chunk: "Chunk") -> list[_Value]:
        for place, version in zip(chunk.places, chunk.versions, strict=True):
            written, line = self._written.get(place, (0, ""))
            if written != version:
                raise _error(f"{_name(place)} was overwritten at {line} since this chunk was taken; take it anew")
            if place not in self._values:
                raise _error(f"{_name(place)} holds nothing yet")
        return [self._values[place] for place in chunk.places]

    def _write(
        self, source: "Chunk", places: tuple[_Place, ...], values: list[_Value], reduce: bool, channel: int
    ) -> "Chunk":
        """Notes that `source` goes to `places`, which then hold `values`."""
        if set(source.places) & set(places):
            raise _error(f"{_name(places[0])}: source and destination overlap")
        self._steps.append(_Step(source.places[0], places[0], len(places), reduce, channel))
        line = _caller()
        for place, value in zip(places, values, strict=True):
            self._values[place] = value
            self._written[place] = (self._written.get(place, (0, ""))[0] + 1, line)
        return Chunk(self, places, tuple(self._written[place][0] for place in places))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring chunks of a rank as they were when they were taken; of no use once something overwrote them."""

    algorithm: Algorithm
    places: tuple[_Place, ...]
    versions: tuple[int, ...]

    def copy(self, rank: int, buffer: str, index: int, channel: int = 0) -> "Chunk":
        """Copies to a rank's buffer from `index` on, over a connection of its own for each `channel`; what is there
        then."""
        places = self.algorithm._places(rank, buffer, index, len(self.places))
        return self.algorithm._write(self, places, self.algorithm._read(self), False, channel)

    def reduce(self, other: "Chunk", channel: int = 0) -> "Chunk":
        """Adds `other`, of any rank, buffer and index, to these chunks; the sums."""
        if other.algorithm is not self.algorithm or len(other.places) != len(self.places):
            raise _error(f"{len(other.places)} chunks cannot be added to {len(self.places)} of one algorithm")
        sums = []
        values = zip(self.algorithm._read(self), self.algorithm._read(other), strict=True)
        for place, (own, added) in zip(self.places, values, strict=True):
            if own & added:
                chunk, rank = min(own & added)
                raise _error(f"{_name(place)} would have rank {rank}'s part of chunk {chunk} twice")
            sums.append(own | added)
        return self.algorithm._write(other, self.places, sums, True, channel)


def _name(place: _Place) -> str:
    rank, buffer, offset = place
    return f"rank {rank} {buffer}[{offset}]"


def _difference(found: _Value, wanted: _Value) -> str:
    if not found:
        return "holds nothing"
    if missing := wanted - found:
        chunk, rank = min(missing)
        return f"rank {rank}'s part of chunk {chunk} is missing"
    chunk, rank = min(found - wanted)
    return f"it also holds rank {rank}'s part of chunk {chunk}"


def _caller() -> str:
    """File and line of the first caller outside this file."""
    frame = sys._getframe()
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _error(reason: str) -> ScheduleError:
    return ScheduleError(f"{_caller()}: {reason}")
