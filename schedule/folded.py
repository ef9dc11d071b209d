"""A schedule that says what some transfers do and under which symmetry all others are images of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from hocket._core import schedule as engine
from hocket.base.errors import ScheduleError
from hocket.base.memory import machine_bytes
from hocket.base.units import format_bytes
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.link_symmetry import LinkSymmetry
from hocket.schedule.schedule import Bound, Schedule
from hocket.schedule.symmetry import Symmetry
from hocket.topology import Topology

__all__ = ["AnySchedule", "FoldedSchedule", "Phase", "TransferColumns", "Transfers"]

_BLOCK = 2**16
_MAX_TRANSFERS = 2**31 - 1
# What `expand` takes for a transfer at its peak: the columns (25 bytes), once more in order, and the order.
_BYTES_A_TRANSFER = 60
# Whether the phases of each kind are mirrored.
_MIRRORED = {
    Kind.ALL_GATHER: (False,),
    Kind.BROADCAST: (False,),
    Kind.ALL_TO_ALL: (False,),
    Kind.REDUCE_SCATTER: (True,),
    Kind.REDUCE: (True,),
    Kind.ALL_REDUCE: (True, False),
}


@dataclass(frozen=True, eq=False)
class TransferColumns:
    """Transfers sorted by start: `chunk` int32, `route` int32, `start_ps` int64 from the begin of their phase."""

    chunk: NDArray[np.int32]
    route: NDArray[np.int32]
    start_ps: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.chunk)

    def check(self, num_routes: int, num_chunks: int) -> None:
        """Raises ScheduleError unless the columns agree in length, ids are in range and starts ascend from 0 or
        later."""
        if not len(self.chunk) == len(self.route) == len(self.start_ps):
            raise ScheduleError("the columns of the transfers differ in length")
        for name, column, limit in (("chunk", self.chunk, num_chunks), ("route", self.route, num_routes)):
            if len(column) and (column.min() < 0 or column.max() >= limit):
                raise ScheduleError(f"the {name} of a transfer does not exist: there are {limit}")
        if (np.diff(self.start_ps, prepend=0) < 0).any() or self.start_ps.max(initial=0) > engine.HORIZON_PS:
            raise ScheduleError("starts must ascend from 0 or later, up to 2^61 ps")

    def blocks(self, most: int = _BLOCK) -> Iterator["TransferColumns"]:
        """The transfers, at most so many at a time."""
        for at in range(0, len(self), most):
            part = slice(at, at + most)
            yield TransferColumns(self.chunk[part], self.route[part], self.start_ps[part])

    def time_ps(self, durations: NDArray[np.int64]) -> int:
        """When the last is done, where one over route k takes durations[k] (int64)."""
        return int((self.start_ps + durations[self.route]).max(initial=0))

    def route_count(self, num_routes: int) -> NDArray[np.int64]:
        """Number of transfers over each route (int64)."""
        return np.bincount(self.route, minlength=num_routes)


class Transfers(Protocol):
    """What gives transfers some at a time: TransferColumns in memory, or what is read from a file."""

    def __len__(self) -> int: ...
    def check(self, num_routes: int, num_chunks: int) -> None: ...
    def blocks(self) -> Iterator[TransferColumns]: ...
    def time_ps(self, durations: NDArray[np.int64]) -> int: ...
    def route_count(self, num_routes: int) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Phase:
    """Transfers that copy chunks, or point by point bring them where they are wanted; or, if `mirrored`, such transfers
    run backwards, which sum chunks up: their times count back from the end of the phase, so that a transfer *ends*
    `start_ps` before it. Routes are as in Schedule, in the direction in which data goes; each takes a transfer as long
    as the largest chunk does: summed latencies + one serialization per hop between ranks.
    """

    route_offset: NDArray[np.int64]
    route_links: NDArray[np.int32]
    transfers: Transfers
    mirrored: bool = False

    @property
    def num_routes(self) -> int:
        return len(self.route_offset) - 1

    def reversed(self) -> "Phase":
        """The phase backwards in time, on the reversed topology."""
        hops = np.diff(self.route_offset)
        ends = np.repeat(self.route_offset[:-1] + self.route_offset[1:] - 1, hops)
        reversed_links = self.route_links[ends - np.arange(len(self.route_links))]
        return Phase(self.route_offset, reversed_links, self.transfers, not self.mirrored)


@final
@dataclass(frozen=True, eq=False, repr=False)
class FoldedSchedule:
    """A timed schedule whose transfers are those of its `phases`, one after the other, and their images under the
    `symmetry`: it can be verified, saved and measured where it has too many transfers to spell out.

    An image takes the ranks of a transfer, its chunk and the links of its route along; the topology must have the
    symmetry as well, link by link, and each link as many images as there are elements. A chunk goes to a rank only
    once. The fields are otherwise as in Schedule, over all ranks of the topology.

    ==========================  =========================================================================
    all_gather, broadcast       one phase of copies
    reduce_scatter, reduce      one phase, mirrored: each rank sends its sum of a chunk once
    all_reduce                  both: chunk c is summed up at rank c // chunks_per_rank, then copied out
    all_to_all                  one phase, in which a chunk leaves a rank once: it goes its way, and no other
    ==========================  =========================================================================

    Raises ScheduleError when kind, phases, topology and symmetry do not fit together.
    """

    collective: Collective
    topology: Topology
    symmetry: Symmetry
    phases: tuple[Phase, ...]
    blocking: bool
    bound: Bound | None
    generator: str
    seed: int | None

    def __repr__(self) -> str:
        return f"<FoldedSchedule of {self.collective.describe()} on {self.topology.name} by {self.generator}>"

    def __post_init__(self) -> None:
        kind, mirrored = self.collective.kind, tuple(phase.mirrored for phase in self.phases)
        if _MIRRORED.get(kind) != mirrored:
            raise ScheduleError(f"{kind} cannot be folded into phases that are mirrored: {mirrored}")
        if self.collective.num_ranks != self.topology.num_ranks:
            raise ScheduleError(
                f"{self.collective.describe()} does not fit {self.topology.name} with its "
                f"{self.topology.num_ranks} ranks"
            )
        if self.collective.rooted and self.symmetry.order > 1:
            raise ScheduleError(f"{kind} has a root, so its ranks are no images of each other")

    @cached_property
    def links(self) -> LinkSymmetry:
        """What the symmetry does to links. Raises ScheduleError where the topology does not have it."""
        links = LinkSymmetry.of(self.symmetry, self.topology)
        if links is None:
            motions = " x ".join(
                f"{motion} of {size}" for size, motion in zip(self.symmetry.sizes, self.symmetry.motions, strict=True)
            )
            raise ScheduleError(f"{self.topology.name} does not have the symmetry of the schedule ({motions})")
        return links

    @property
    def chunk_bytes(self) -> int:
        """Of the largest chunk: what every transfer is timed with."""
        return self.collective.largest_chunk_bytes

    @property
    def num_representatives(self) -> int:
        """Transfers that are stored."""
        return sum(len(phase.transfers) for phase in self.phases)

    @property
    def num_transfers(self) -> int:
        """All transfers."""
        return self.num_representatives * self.symmetry.order

    @cached_property
    def phase_times_ps(self) -> tuple[int, ...]:
        """How long each phase takes."""
        return tuple(phase.transfers.time_ps(self.durations(phase)) for phase in self.phases)

    @property
    def time_ps(self) -> int:
        """When the last transfer is done, in picoseconds."""
        return sum(self.phase_times_ps)

    @cached_property
    def busiest_link_ps(self) -> int:
        """Picoseconds that the busiest link needs for its bytes alone."""
        orbit_bytes = np.zeros(self.topology.num_links, np.int64)
        for phase in self.phases:
            count = phase.transfers.route_count(phase.num_routes) * self.chunk_bytes
            hops = np.repeat(count, np.diff(phase.route_offset))
            np.add.at(orbit_bytes, self.links.first[phase.route_links], hops)
        used = np.flatnonzero(orbit_bytes)
        seconds = orbit_bytes[used] / self.topology.bandwidth[used]
        return int((seconds * 1e12).max(initial=0) * (1 - 1e-9))

    def durations(self, phase: Phase) -> NDArray[np.int64]:
        """Of a transfer over each route of a phase, in picoseconds (int64)."""
        return engine.route_durations(self.topology.graph, phase.route_offset, phase.route_links, self.chunk_bytes)

    def check(self) -> None:
        """Raises ScheduleError when transfers point outside of what they index, so that anything else here would
        fail."""
        for phase in self.phases:
            self.durations(phase)  # the engine checks routes
            phase.transfers.check(phase.num_routes, self.collective.num_chunks)

    def expand(self, memory_bytes: int | None = None) -> Schedule:
        """All transfers spelled out.

        Raises ScheduleError when that would take more than `memory_bytes` (half of the machine's by default), or are
        2^31 transfers or more.
        """
        memory = memory_bytes or machine_bytes() // 2
        needed = self.num_transfers * _BYTES_A_TRANSFER
        if needed > memory or self.num_transfers > _MAX_TRANSFERS:
            raise ScheduleError(
                f"{self.collective.describe()} on {self.topology.name} is {self.num_transfers} transfers, which take "
                f"{format_bytes(needed)} of memory when spelled out (limit {format_bytes(memory)} and 2^31 transfers); "
                "it can be verified and measured folded, or made for fewer ranks or chunks"
            )
        chunk, route = (np.empty(self.num_transfers, np.int32) for _ in range(2))
        start_ps, finish_ps = (np.empty(self.num_transfers, np.int64) for _ in range(2))
        reduce = np.empty(self.num_transfers, np.bool_)
        element = np.arange(self.symmetry.order)[:, None]
        route_offset, route_links = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        done, first_route, first_link, begin_ps = 0, 0, 0, 0
        for phase, time_ps in zip(self.phases, self.phase_times_ps, strict=True):
            images, durations = self.links.images(phase.route_links), self.durations(phase)
            route_links.append(images.ravel())
            ends = first_link + element * len(phase.route_links) + phase.route_offset[1:]
            route_offset.append(ends.ravel())
            for block in phase.transfers.blocks():
                for some in block.blocks(max(1, _BLOCK // len(element))):
                    duration = durations[some.route]
                    start = begin_ps + (time_ps - some.start_ps - duration if phase.mirrored else some.start_ps)
                    fill = slice(done, done + len(element) * len(some))
                    chunk[fill] = self.symmetry.act_on_chunks(self.collective, element, some.chunk).ravel()
                    route[fill] = (first_route + element * phase.num_routes + some.route).ravel()
                    start_ps[fill] = np.tile(start, len(element))
                    finish_ps[fill] = np.tile(start + duration, len(element))
                    reduce[fill] = phase.mirrored
                    done = fill.stop
            first_route += len(element) * phase.num_routes
            first_link += images.size
            begin_ps += time_ps
        order = np.lexsort((route, start_ps))
        return Schedule(
            collective=self.collective,
            topology=self.topology,
            route_offset=np.concatenate(route_offset),
            route_links=np.concatenate(route_links),
            chunk=chunk[order],
            route=route[order],
            reduce=reduce[order],
            start_ps=start_ps[order],
            finish_ps=finish_ps[order],
            timed=True,
            blocking=self.blocking,
            bound=self.bound,
            generator=self.generator,
            seed=self.seed,
        )


AnySchedule: TypeAlias = Schedule | FoldedSchedule
