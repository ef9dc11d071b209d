"""Schedules that may be the quickest for a runtime: searched for on links as its kernels see them, and native ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from hocket.base.errors import Infeasible, ScheduleError
from hocket.schedule import Collective, Kind, Protocol, Schedule, retime
from hocket.schedule.algorithms import build_all
from hocket.schedule.kernel_links import with_kernels
from hocket.synthesizer import Problem, ScheduleWindow
from hocket.topology import Topology
from hocket.translator.bundle import Source
from hocket.translator.lowering.least_time import LeastTime
from hocket.translator.lowering.lowering import Strategy
from hocket.translator.lowering.strategies import fewer_chunks
from hocket.translator.msccl.profile import Profile

__all__ = ["Candidates"]

_APART = 16  # times a size, to the next that is searched for
_NATIVE_CHUNKS = (1, 2, 4)
_FEW_OWNERS = 8
_KEPT = 4  # of the native schedules of each number of chunks, at each size
_COPIES = 16  # with which they are compared

#: Of a problem and sizes, with so many chunks (None: any number).
Searching = Callable[[Problem, Sequence[int], int | None], list[ScheduleWindow]]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Of a problem, for programs of a `profile` whose protocols are priced; `sizes` ascending, in bytes. `search`
    answers a problem at several sizes; `natives`: native algorithms compete."""

    problem: Problem
    profile: Profile
    sizes: Sequence[int]
    search: Searching
    natives: bool = True

    def sources(self) -> list[Source]:
        """Each with the size that it is best at. Raises what the search raises."""
        found: dict[bytes, Source] = {}
        for source in (*self._searched(), *(self._natives() if self.natives else ())):
            found.setdefault(_steps(source), source)
        return list(found.values())

    @property
    def _plain(self) -> Topology:
        """No program of sends and receives has switches compute."""
        return replace(self.problem.topology, in_network=())

    @property
    def _apart(self) -> list[int]:
        """The sizes at which schedules are searched for: the first, and each that is much larger than one before."""
        found = [self.sizes[0]]
        for size in (*self.sizes[1:-1], self.sizes[-1]):
            if size >= found[-1] * _APART:
                found.append(size)
        return found if found[-1] * 2 > self.sizes[-1] else [*found, self.sizes[-1]]

    def _searched(self) -> Iterator[Source]:
        for topology in _seen(self._plain, self._extremes):
            seen = replace(self.problem, topology=topology)
            for window in self.search(seen, self._apart, None):
                yield from self._placed(window)
                few = fewer_chunks(window.at[0].schedule.expand(), self.profile)
                if few is not None:  # more than its programs have room for
                    rounded = 1 << few.bit_length() - 1
                    for other in self.search(seen, [window.sizes[0]], rounded):
                        yield from self._placed(other)

    def _placed(self, window: ScheduleWindow) -> Iterator[Source]:
        """The schedule of a window on the links as they are."""
        schedule = window.at[0].schedule.expand()
        with suppress(ScheduleError):  # sums that other latencies reorder
            yield self._source(replace(schedule, topology=self._plain, bound=None), window.sizes[0])

    @property
    def _extremes(self) -> list[Protocol]:
        """Of the priced protocols that of the shortest steps, and that which carries most; any without prices."""
        priced = [(pace, one) for one in self.profile.protocols.values() if (pace := one.pace) is not None]
        if not priced:
            return [self.profile.protocols["Simple"]]
        quick = min(priced, key=lambda each: each[0].inside_ps)[1]
        wide = min(priced, key=lambda each: (each[1].wire, each[0].inside_ps))[1]
        return [quick, wide]

    def _natives(self) -> Iterator[Source]:
        """Those that may be the quickest of them at some size."""
        members = [
            (cut, schedule)
            for cut in self._cuts
            for schedule in self._built(cut)
            if cut is self._cuts[0] or not schedule.is_own.all()  # whole buffers go in one chunk, however they are cut
        ]
        least = [LeastTime(schedule, self.profile) for _, schedule in members]
        strategies = [Strategy(protocol=name, instances=_COPIES) for name in self.profile.priced or ("Simple",)]
        kept: dict[int, int] = {}
        for size in self._apart:
            taken = [(min(each.of(strategy, size) for strategy in strategies), at) for at, each in enumerate(least)]
            for cut in self._cuts:
                alike = [(time_ps, at) for time_ps, at in taken if members[at][0] is cut]
                for _, at in sorted(alike)[:_KEPT]:
                    kept.setdefault(at, size)
        for at, size in sorted(kept.items()):
            with suppress(ScheduleError):  # sums that another size reorders
                yield self._source(members[at][1], size)

    @cached_property
    def _cuts(self) -> list[Collective]:
        """The collective in so many chunks a rank; an all_reduce of ranks that are no power of two also in powers of
        two, as sizes are: of all ranks, of those of a machine, and few."""
        asked = self.problem.collective
        asked = replace(asked, size_bytes=self.sizes[0])  # that of which most orders of sums are sound
        cuts = [replace(asked, chunks_per_rank=chunks) for chunks in _NATIVE_CHUNKS]
        ranks = asked.num_ranks
        if asked.kind is not Kind.ALL_REDUCE or ranks.bit_count() == 1:
            return cuts
        on_machine = int(np.bincount(self.problem.topology.machine[self.problem.ranks]).max())
        powers = {1 << each.bit_length() - 1 for each in (ranks, on_machine, min(ranks, _FEW_OWNERS))}
        return [*cuts, *(replace(asked, chunks_per_rank=power, cut_whole=True) for power in sorted(powers))]

    def _built(self, cut: Collective) -> Iterator[Schedule]:
        with suppress(Infeasible):
            for schedule in build_all(cut, self._plain, self.problem.group):
                with suppress(ScheduleError):
                    yield retime(schedule)

    def _source(self, schedule: Schedule, size: int) -> Source:
        collective = replace(schedule.collective, size_bytes=size)
        timed = retime(replace(schedule, collective=collective))
        chunks = collective.chunks_per_rank
        whole = " of the buffer" * collective.cut_whole
        name = f"{timed.generator}, {chunks} chunks{whole}" if chunks > 1 else timed.generator
        return Source(Path(name), collective, timed, has_coarser=True)


def _seen(topology: Topology, protocols: Sequence[Protocol]) -> Iterator[Topology]:
    """The links as kernels see them, by different protocols."""
    found: Mapping[str, Topology] = {
        seen.fingerprint: seen for seen in (with_kernels(topology, protocol) for protocol in protocols)
    }
    yield from found.values()


def _steps(source: Source) -> bytes:
    """What tells schedules apart, whatever their times."""
    schedule = source.content
    assert isinstance(schedule, Schedule)
    columns = (schedule.src, schedule.dst, schedule.chunk, schedule.reduce)
    return b"".join(column.tobytes() for column in columns)
