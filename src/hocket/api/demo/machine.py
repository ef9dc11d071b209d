"""What all_reduces take on one machine: by the stock library, by native algorithms, as programs at NCCL's pace."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.nccl import NcclModel
from hocket.nccl.programs.pace import paced_as_rings
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Program, Schedule
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_collective, simulate_program, simulate_schedule
from hocket.topology import Topology
from hocket.translator import Lowering, lower_best

__all__ = ["PRICING", "ContestMachine", "ContestTime", "PricedProgram"]

_COPIES = (1, 2, 4, 8)
_CHUNKS = (1, 2, 4)  # of a rank's part, by native algorithms
_MOST_THREAD_BLOCKS = 64  # of a GPU, as many as NCCL 2.30 has channels at most (MAXCHANNELS)
PRICING = (
    "With costs, the stock library takes what NCCL's kernels take, chunk by chunk. The others are programs of 1, 2, 4"
    f" or 8 copies and at most {_MOST_THREAD_BLOCKS} thread blocks a GPU, of which the quickest counts, simulated at"
    " the pace of NCCL's Ring/Simple on the same machine: its launch, its latency of each step, and for each thread"
    " block the rate of one of its channels. That is an assumption: no program was measured on these GPUs. Native"
    " algorithms cut each rank's part in 1, 2, 4 or as many chunks as the synthesized schedule, and those that take up"
    " to twice the least on the links alone become programs. Programs send chunks in slices, so that one can be quicker"
    " than its schedule of whole chunks."
)


@dataclass(frozen=True)
class ContestTime:
    """A time, and what takes it."""

    name: str
    time_ps: int


@dataclass(frozen=True)
class PricedProgram(ContestTime):
    """What a program takes at the pace of NCCL's rings."""

    program: Program
    copies: int


@dataclass(frozen=True, eq=False)
class ContestMachine:
    """A topology that names NVIDIA's machines, and NCCL on it."""

    topology: Topology

    @cached_property
    def nccl(self) -> NcclModel:
        return model_of(self.topology.name, self.topology.num_ranks)

    def program_ps(self, program: Program, size_bytes: int) -> int:
        """At the pace of NCCL's rings, of the next size that the program's chunks divide."""
        size = -(-size_bytes // program.chunks_per_loop) * program.chunks_per_loop
        return simulate_program(program, self.topology, size, passes=paced_as_rings(program, self.nccl, size)).time_ps

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

    def quickest(self, schedules: Iterable[tuple[ContestTime, Schedule]], size_bytes: int) -> PricedProgram | None:
        """Of all programs of the schedules that fit, the one that takes least at NCCL's pace."""
        priced = [
            PricedProgram(entry.name, self.program_ps(program, size_bytes), program, copies)
            for entry, schedule in schedules
            for copies, program in _programs(schedule)
        ]
        return min(priced, key=lambda each: each.time_ps, default=None)


def _programs(schedule: Schedule) -> Iterator[tuple[int, Program]]:
    """By the number of copies, as long as a GPU has thread blocks for twice as many."""
    for copies in _COPIES:
        try:
            program = lower_best(schedule, "executor", Lowering(instances=copies)).program
        except (ScheduleError, DeadlockError):  # more copies fit no better
            return
        blocks = max(len(gpu.thread_blocks) for gpu in program.gpus)
        if blocks <= _MOST_THREAD_BLOCKS:
            yield copies, program
        if 2 * blocks > _MOST_THREAD_BLOCKS:
            return
