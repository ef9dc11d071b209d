"""One kind of call of a bundle, in place or out of place: its programs, and which serves which sizes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import isqrt, lcm
from pathlib import Path

from hocket.base.errors import DeadlockError, ScheduleError, SimulationError, placed
from hocket.base.units import format_limit
from hocket.schedule import Program, Schedule, retime
from hocket.schedule.kernel_links import with_kernels
from hocket.simulator import simulate_program
from hocket.simulator.program_times import ProgramTimes
from hocket.translator.bundle.contest import NEVER_PS, Close, Compared, Member, ProgramContest
from hocket.translator.bundle.manifest import PROGRAMS, BundleFile, Predicted
from hocket.translator.bundle.sources import Source, Sources
from hocket.translator.bundle.target import Lowered, Target, Written
from hocket.translator.bundle.windows import SizeWindow, multiples, reachable, windows
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.msccl.xml_write import LimitError

__all__ = ["CallPrograms"]

_PS = 10**12
_ELEMENT = 4  # bytes, of a float32
_APART = 4
_HOPELESS = 2  # times the quickest: no window is made longer for that, so that how much more does not matter


class CallPrograms:
    """The programs for one kind of call of the sizes of a lowering, in at most so many windows.

    `served`: sources that have a program for such calls; `used`: those that serve a window; `wanted`: those that would
    if any number of windows were allowed. `windows` speak of `members`, the programs that are the quickest somewhere;
    sizes at which `stock_ps` is less are left out: the stock library serves them. `close`: what was near the quickest,
    and is tried of those that come to be `like` these alone; `unfit`: sources that do not fit the runtime, and why.
    Raises ScheduleError or DeadlockError, naming the file.
    """

    def __init__(
        self,
        sources: Sources,
        target: Target,
        lowering: Lowering,
        most: int | None,
        sizes: Sequence[int] = (),
        stock_ps: Callable[[int], int] | None = None,
        like: "CallPrograms | None" = None,
    ) -> None:
        self._sources = sources
        self._target = target
        self._in_place = bool(lowering.in_place)
        self.name = "in-place" if self._in_place else "out-of-place"
        self._min_bytes = lowering.min_bytes
        self._stock_ps = stock_ps
        self.unfit: dict[Path, str] = {}
        self._times: dict[int, ProgramTimes] = {}
        self._told: dict[tuple[int, str, int, int], int] = {}  # by thread blocks, protocol, instances and size
        lowered = [(source, self._lowered(source, lowering)) for source in sources.members]
        if self.unfit and not any(programs for _, programs in lowered):
            raise ScheduleError(next(iter(self.unfit.values())))
        self.served = {source.path for source, programs in lowered if programs}
        members = [(source, program) for source, programs in lowered for program in programs]
        least, largest = lowering.min_bytes, lowering.max_bytes
        own = (source.size_bytes for source in sources.members)
        inside = {size for size in (*sizes, *own) if least <= size <= largest}
        self.sizes = sorted(inside | {max(least, 1), largest})
        self._asked = set(sizes)
        near = None if like is None else like.close
        tried = [one for one in members if near is None or (one[0].path, one[1].variant) in near]
        try:
            found = self._served_by(tried or members, most)
        except (ScheduleError, DeadlockError):
            if not 0 < len(tried) < len(members):
                raise
            found = self._served_by(members, most)
        self.close: Close = self._contest.close
        self.wanted = self._sources_of(self._windows(None))
        self.windows = [window for window in found if window.program < len(self._members)]
        self.left = [window for window in found if window.program == len(self._members)]
        self.used = self._sources_of(found)

    def _served_by(self, members: Sequence[Member], most: int | None) -> list[SizeWindow]:
        """The windows of a contest among members, whose programs are proved. Programs that serve none are not: their
        proofs would take longer than their times."""
        self._contest = ProgramContest(members, self._taken_ps, self._stock_ps)
        while True:
            self._members = self._contest.winners(self.sizes)
            if not self._members and self._stock_ps is None and self._asked:
                self._asked = set()  # chunks of none divide any size: those near them are served
                self._contest = ProgramContest(members, self._taken_ps, self._stock_ps)
                continue
            self._time_ps = cache(self._member_time_ps)
            self._least_told: dict[int, int] = {}  # of the members, by size
            found = self._windows(most)
            serving = {window.program for window in found if window.program < len(self._members)}
            if self._contest.proved([self._members[number] for number in sorted(serving)]):
                return found

    def compared(self, size: int) -> Compared:
        """Of a size that programs were compared at."""
        return self._contest.compared(size)

    def _windows(self, most: int | None) -> list[SizeWindow]:
        if not self._members and self._stock_ps is None:
            return []
        stock = None if self._stock_ps is None else len(self._members)
        count = len(self._members) + (stock is not None)
        # The stock library may be the quicker between two sizes at which one program is.
        between = [] if stock is None else [isqrt(a * b) for a, b in pairwise(self.sizes) if b > _APART * a]
        found = windows(self._time_ps, count, [*self.sizes, *between], self._min_bytes, most, free=stock)
        return reachable(found, self._unit_bytes)

    def _unit_bytes(self, number: int) -> int:
        return 1 if number == len(self._members) or self._target.pads else self._members[number][1].unit_bytes

    def _sources_of(self, found: list[SizeWindow]) -> set[Path]:
        return {self._members[window.program][0].path for window in found if window.program < len(self._members)}

    def _lowered(self, source: Source, lowering: Lowering) -> "list[Lowered]":
        try:
            return list(self._target.lowered(source, lowering))
        except LimitError as error:  # others may fit
            self.unfit[source.path] = f"{source.path}: {self.name} calls: {error}"
            return []
        except (ScheduleError, DeadlockError) as error:
            raise placed(f"{source.path}: {self.name} calls", error) from error

    def file(self, window: SizeWindow, number: int, total: int) -> tuple[BundleFile, Written]:
        """The proved program of a window, the `number`-th of `total` files."""
        source, lowered = self._members[window.program]
        if self._stock_ps is not None and lowered.largest_bytes is not None:  # the stock library serves what is larger
            window = replace(window, max_bytes=min(window.max_bytes, lowered.largest_bytes))
        first, last = multiples(window.min_bytes, window.max_bytes, lowered.unit_bytes)
        if first > last and self._target.pads:  # what it serves is padded to that
            window, last = replace(window, max_bytes=first), first
        if first > last:
            sizes = f"{format_limit(window.min_bytes)} to {format_limit(window.max_bytes)}"
            raise ScheduleError(
                f"{source.path}: {self.name} calls of {sizes} are never a multiple of"
                f" {format_limit(lowered.unit_bytes)}, as the program needs; give a wider range of sizes, or a"
                " schedule of fewer chunks"
            )
        sizes = f"{window.min_bytes}-{window.max_bytes}"
        name = f"{number:0{len(str(total))}}-{self._sources.collective.kind}-{self.name}-{sizes}"
        try:
            written = lowered.written(name, window)
        except (ScheduleError, DeadlockError) as error:
            raise placed(source.path, error) from error
        unit = lowered.unit_bytes
        served = {first, last, *(size // unit * unit for size in self.sizes if first <= size <= last)}
        return (
            BundleFile(
                path=f"{PROGRAMS}/{name}{written.suffix}",
                in_place=self._in_place,
                min_bytes=window.min_bytes,
                max_bytes=window.max_bytes,
                chunks=written.chunks,
                alignment=written.alignment,
                protocol=written.protocol,
                channels=written.channels,
                thread_blocks=written.thread_blocks,
                steps=written.steps,
                scratch_bytes=-(-window.max_bytes // written.chunks) * written.scratch_chunks,
                source=source.path.name,
                predicted=tuple(
                    Predicted(size, self._program_time_ps(lowered, size), self._schedule_time_ps(source, size))
                    for size in sorted(served)
                ),
            ),
            written,
        )

    def _member_time_ps(self, number: int, size: int) -> int:
        if number == len(self._members):
            assert self._stock_ps is not None
            return self._stock_ps(size)
        lowered = self._members[number][1]
        least_ps = lowered.at_least_ps(size)
        if least_ps > _HOPELESS * self._rival_ps(size):
            return least_ps
        time_ps = self._taken_ps(lowered, size)
        self._least_told[size] = min(time_ps, self._least_told.get(size, time_ps))
        return time_ps

    def _rival_ps(self, size: int) -> int:
        """The least that is known of a size: of programs that were tried, and of the stock library."""
        told = self._contest.best_ps(size), self._least_told.get(size), self._stock_ps and self._stock_ps(size)
        return min((time_ps for time_ps in told if time_ps is not None), default=NEVER_PS)

    def _taken_ps(self, lowered: Lowered, size: int) -> int:
        if not lowered.is_for(size):
            return NEVER_PS
        one = lowered.one
        loop = (one.chunks_per_loop if isinstance(one, Program) else one.collective.slots) * lowered.instances
        if not self._target.pads and size in self._asked and size % lcm(lowered.unit_bytes, loop * _ELEMENT):
            return NEVER_PS  # the runtime leaves it to its own algorithms
        return self._program_time_ps(lowered, -(-size // loop) * loop)

    def _program_time_ps(self, lowered: Lowered, size: int) -> int:
        one, protocols = lowered.one, self._target.protocols
        if isinstance(one, Schedule):
            try:
                return self._on_switches_ps(one, size, lowered.thread_blocks)
            except ScheduleError:  # sums that another size reorders
                return NEVER_PS
        number = id(one.gpus)  # of thread blocks for several protocols; their times keep them
        key = number, one.protocol, lowered.instances, size
        if number not in self._times:
            self._times[number] = ProgramTimes(one, self._sources.topology, self._sources.ranks)
        if key not in self._told:
            time_ps = self._times[number].at(size, protocols, one.protocol, lowered.instances)
            self._told[key] = self._simulated_ps(lowered, size) if time_ps is None else time_ps
        return self._told[key]

    def _simulated_ps(self, lowered: Lowered, size: int) -> int:
        """Of what takes a whole simulation to tell: `NEVER_PS` where that would be too large, if others can be told."""
        program, ranks = lowered.program, self._sources.ranks
        assert isinstance(program, Program)
        try:
            return simulate_program(
                program, self._sources.topology, size, protocols=self._target.protocols, placement=ranks
            ).time_ps
        except SimulationError:
            if len(self._sources.members) == 1:
                raise
            return NEVER_PS

    def _on_switches_ps(self, schedule: Schedule, size: int, thread_blocks: int) -> int:
        """Of a schedule in which switches compute: ranks meet before and after each slice of the call, which takes a
        step; thread blocks copy what is added to where switches reach it, and the result back."""
        simple = self._target.protocols["Simple"]
        pace = simple.pace
        if pace is None:
            return _resized_time_ps(schedule, size)
        without_steps = replace(simple, pace=replace(pace, inside_ps=0, between_ps=0))
        seen = replace(schedule, topology=with_kernels(self._sources.topology, without_steps))
        kind, share = schedule.collective.kind, size // schedule.collective.num_ranks
        copied = (size if kind.reduces else 0) + (share if kind.output_is_block else size)
        slices, blocks = self._target.over_switches(schedule.collective.slots, size, thread_blocks)
        copies_ps = copied * _PS // (pace.bandwidth * blocks)
        return pace.start_ps + _resized_time_ps(seen, size) + 2 * slices * pace.inside_ps + copies_ps

    def _schedule_time_ps(self, source: Source, size: int) -> int | None:
        schedule = source.content
        if not isinstance(schedule, Schedule) or schedule.topology.fingerprint != self._sources.topology.fingerprint:
            return None
        try:
            return _resized_time_ps(schedule, size)
        except ScheduleError:  # sums that another size reorders
            return None


def _resized_time_ps(schedule: Schedule, size: int) -> int:
    sized = replace(schedule, collective=replace(schedule.collective, size_bytes=size), bound=None)
    return retime(sized, schedule.blocking).time_ps
