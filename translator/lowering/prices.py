"""What programs take at one size, by simulation, and a time below which they cannot be."""

from dataclasses import dataclass, field

import numpy as np

from hocket.schedule import Passes, Program, StepType
from hocket.simulator import simulate_program
from hocket.topology import Topology
from hocket.translator.msccl.profile import Profile

__all__ = ["Predictor"]

_SENDS = np.array([kind.sends for kind in StepType])


@dataclass(frozen=True, eq=False, slots=True)
class Predictor:
    """Simulates each program once. At `size_bytes` (as nccl-tests counts), rounded up to a program's chunks, on `placement`'s ranks (None: r on r)
    of a topology, by the profile's protocols."""

    profile: Profile
    topology: Topology
    size_bytes: int
    placement: tuple[int, ...] | None = None
    _known: dict[Program, int] = field(default_factory=dict, repr=False)

    def __call__(self, program: Program) -> int:
        """In ps, by simulation."""
        if program not in self._known:
            passes = self._passes(program)
            found = simulate_program(
                program, self.topology, passes.size_bytes, passes=passes, placement=self.placement
            )
            self._known[program] = found.time_ps
        return self._known[program]

    def least_ps(self, program: Program) -> int:
        """The busiest thread block's time with the bytes that it sends: it does one thing after the other. 0 where
        the runtime's kernels take no time that is known."""
        passes = self._passes(program)
        if passes.pace is None:
            return 0
        blocks = [block for gpu in program.gpus for block in gpu.thread_blocks]
        rows = program.rows
        sent = np.where(_SENDS[rows["type"]], rows["count"], 0).astype(np.int64)
        before = np.cumsum(np.append(0, sent))
        bounds = np.cumsum([0, *(len(block.steps) for block in blocks)])
        chunks = before[bounds[1:]] - before[bounds[:-1]]
        channel = np.array([block.channel for block in blocks], np.int64)
        total = passes.chunk_bytes.sum(axis=0)[channel] * chunks
        return passes.pace.start_ps + int(passes.pace.busy_ps(total).max(initial=0))

    def _passes(self, program: Program) -> Passes:
        loop = program.chunks_per_loop
        size = -(-max(self.size_bytes, 1) // loop) * loop
        machine = self.topology.machine.tolist()
        ranks = range(program.num_ranks) if self.placement is None else self.placement
        inside = [machine[place] for place in ranks if place < len(machine)]
        return Passes.of(program, size, self.profile.protocols, inside)
