"""What all_reduces take on one machine: by the stock library, by native algorithms, as programs at NCCL's pace."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Collective, Program, Schedule
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_collective, simulate_program, simulate_schedule
from hocket.topology import Topology
from hocket.translator import Lowering, lower_best, priced_profile
from hocket.translator.msccl.profile import Profile

__all__ = ["PRICING", "ContestMachine", "ContestTime", "PricedProgram"]

_LOWERING = Lowering()
_CHUNKS = (1, 2, 4)  # of a rank's part, by native algorithms
PRICING = (
    "With costs, the stock library takes what NCCL's kernels take, chunk by chunk. The others are the quickest programs"
    " that `hocket translate --to executor` finds, simulated with NCCL's own constants for the kernels of its rings:"
    " launch, the latency of each step, and what a thread block moves. That is an assumption: no program was measured"
    " on these GPUs. Native algorithms cut each rank's part in 1, 2, 4 or as many chunks as the synthesized schedule,"
    " and those that take up to twice the least on the links alone become programs. Programs send chunks in slices, so"
    " that one can be quicker than its schedule of whole chunks."
)


@dataclass(frozen=True)
class ContestTime:
    """A time, and what takes it."""

    name: str
    time_ps: int


@dataclass(frozen=True)
class PricedProgram(ContestTime):
    """What a program takes with what kernels take; `copies`: instances beside each other."""

    program: Program
    copies: int


@dataclass(frozen=True, eq=False)
class ContestMachine:
    """A topology that names NVIDIA's machines, and NCCL on it."""

    topology: Topology

    @cached_property
    def runtime(self) -> Profile:
        """Who runs programs, with what its kernels take here."""
        return priced_profile("executor", None, self.topology)

    def program_ps(self, program: Program, size_bytes: int) -> int:
        """With what kernels take, of the next size that the program's chunks divide."""
        size = -(-size_bytes // program.chunks_per_loop) * program.chunks_per_loop
        return simulate_program(program, self.topology, size, protocols=self.runtime.protocols).time_ps

    def stock(self, collective: Collective) -> ContestTime:
        """NCCL's choice, chunk by chunk; in the time of its model where that is no program here."""
        with suppress(ScheduleError):  # such as NVLS where no switch is said to compute
            return self.taken(collective, "nccl")
        return self.taken(collective, "nccl-model")

    def taken(self, collective: Collective, algorithm: str) -> ContestTime:
        """What `hocket simulate --algorithm` says."""
        prediction = simulate_collective(collective, self.topology, algorithm)
        return ContestTime(prediction.collectives[0].algorithm, prediction.time_ps)

    def natives(self, collective: Collective, chunks: int) -> list[tuple[ContestTime, Schedule]]:
        """Every native algorithm on the links alone, its chunks as many as there are cuts; the quickest first."""
        found = []
        for each in sorted({*_CHUNKS, chunks}):
            for schedule in build_all(replace(collective, chunks_per_rank=each), self.topology):
                name = f"{schedule.generator} of {each} chunks" if each > 1 else schedule.generator
                found.append((ContestTime(name, simulate_schedule(schedule).time_ps), schedule))
        return sorted(found, key=lambda native: native[0].time_ps)

    def quickest(self, schedules: Iterable[tuple[ContestTime, Schedule]]) -> PricedProgram | None:
        """Of all programs of the schedules that fit, the one that takes least with what kernels take."""
        priced = []
        for entry, schedule in schedules:
            with suppress(ScheduleError, DeadlockError):  # it fits no runtime
                best = lower_best(schedule, self.runtime, _LOWERING)
                taken, copies = best.candidates[0].time_ps, best.candidates[0].strategy.instances
                priced.append(PricedProgram(entry.name, taken, best.program, copies))
        return min(priced, key=lambda each: each.time_ps, default=None)
