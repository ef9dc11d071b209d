"""Ways to lower a schedule to a program: all are simulated, and the quickest that can be proved is taken."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

from hocket.core.errors import ScheduleError
from hocket.schedule import Program, Schedule
from hocket.simulator import simulate_program

__all__ = ["Candidate", "Strategy", "candidates", "strategies"]

_MANY = 20_000  # transfers beyond which few strategies are tried


@dataclass(frozen=True, slots=True)
class Strategy:
    """`channels` between two ranks; `slots`, the messages that a connection is relied on to hold; `instances` of the
    program."""

    channels: int
    slots: int
    instances: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a strategy came to: a program and its predicted time on the schedule's topology; or why it is none."""

    strategy: Strategy
    program: Program | None = field(default=None, repr=False)
    time_ps: int = 0
    error: ScheduleError | None = None

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has the most."""
        return max((len(gpu.thread_blocks) for gpu in self.program.gpus), default=0) if self.program else 0

    @property
    def steps(self) -> int:
        """Of the longest thread block."""
        if self.program is None:
            return 0
        return max((len(block.steps) for gpu in self.program.gpus for block in gpu.thread_blocks), default=0)


def strategies(schedule: Schedule, channels: int | None, slots: int | None, instances: int) -> Iterator[Strategy]:
    """Those worth trying, the plainest first; what is given is kept."""
    few = schedule.num_transfers > _MANY
    wide = [channels] if channels else [1] if few else [1, 2, 4]
    deep = [slots] if slots else [1, 2]
    for chosen in product(wide, deep):
        yield Strategy(*chosen, instances)


def candidates(schedule: Schedule, tried: list[Strategy], lower: Callable[[Strategy], Program]) -> list[Candidate]:
    """What the strategies come to, the best first: the quickest at the schedule's size on its topology, then those of
    fewer thread blocks (each takes a multiprocessor from the computation), then of fewer steps; refused ones last."""
    found = [_candidate(schedule, strategy, lower) for strategy in tried]
    return sorted(found, key=lambda each: (each.program is None, each.time_ps, each.thread_blocks, each.steps))


def _candidate(schedule: Schedule, strategy: Strategy, lower: Callable[[Strategy], Program]) -> Candidate:
    try:
        program = lower(strategy)
    except ScheduleError as error:
        return Candidate(strategy, error=error)
    loop = program.chunks_per_loop
    size = -(-max(schedule.collective.size_bytes, 1) // loop) * loop
    prediction = simulate_program(program, schedule.topology, size, placement=schedule.ranks.tolist())
    return Candidate(strategy, program, prediction.time_ps)
