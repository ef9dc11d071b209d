"""Ways to lower a schedule to a program: all are simulated, and the quickest that can be proved is taken."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from hocket.core.errors import ScheduleError
from hocket.schedule import Program, Schedule
from hocket.simulator import simulate_program
from hocket.translator.coarser import mergeable
from hocket.translator.profiles import Profile

__all__ = ["Candidate", "Strategy", "candidates", "fewer_chunks", "remedies", "strategies"]

_MANY = 20_000  # transfers beyond which few strategies are tried


@dataclass(frozen=True, slots=True)
class Strategy:
    """`channels` between two ranks; `slots`, the messages that a connection is relied on to hold; `instances` of the
    program; `merged`, so many chunks that go the same way made one; `paired`: connections share thread blocks."""

    channels: int
    slots: int
    instances: int
    merged: int = 1
    paired: bool = False


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


def remedies(schedule: Schedule, tried: list[Strategy]) -> Iterator[list[Strategy]]:
    """What else to try, one after the other, where none of the strategies fits a runtime: coarser chunks (too many
    steps), connections that share thread blocks (too many of these), both."""
    coarser = mergeable(schedule)
    for factor in coarser:
        yield [replace(each, merged=factor) for each in tried]
    for factor in (1, *coarser):
        yield [replace(each, merged=factor, paired=True) for each in tried]


def fewer_chunks(schedule: Schedule, profile: Profile) -> int | None:
    """As many chunks a rank as give a rank's file no more elements than the runtime takes, if each end of a message is
    a step, in as many thread blocks as it takes; None where the schedule's fit or none do."""
    src, dst = schedule.src, schedule.dst
    steps = int((np.bincount(src, minlength=1) + np.bincount(dst, minlength=1)).max())
    pairs = np.unique(np.stack([src, dst]), axis=1)
    connections = int(np.bincount(pairs.ravel(), minlength=1).max())
    blocks = max(connections, profile.max_nodes // profile.max_steps)
    room = profile.max_nodes - 1 - schedule.collective.num_ranks - blocks
    fitting = schedule.collective.chunks_per_rank * room // max(steps, 1)
    return fitting if 0 < fitting < schedule.collective.chunks_per_rank else None


def candidates(
    schedule: Schedule, profile: Profile, tried: list[Strategy], lower: Callable[[Strategy], Program]
) -> list[Candidate]:
    """What the strategies come to, the best first: the quickest at the schedule's size on its topology, then those of
    fewer thread blocks (each takes a multiprocessor from the computation), then of fewer steps; refused ones last."""
    found = [_candidate(schedule, profile, strategy, lower) for strategy in tried]
    return sorted(found, key=lambda each: (each.program is None, each.time_ps, each.thread_blocks, each.steps))


def _candidate(
    schedule: Schedule, profile: Profile, strategy: Strategy, lower: Callable[[Strategy], Program]
) -> Candidate:
    try:
        program = lower(strategy)
    except ScheduleError as error:
        return Candidate(strategy, error=error)
    loop = program.chunks_per_loop
    size = -(-max(schedule.collective.size_bytes, 1) // loop) * loop
    prediction = simulate_program(
        program, schedule.topology, size, protocols=profile.protocols, placement=schedule.ranks.tolist()
    )
    return Candidate(strategy, program, prediction.time_ps)
