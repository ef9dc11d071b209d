"""What programs take at one size, by simulation, and a time below which they cannot be."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Passes, Program, StepType, ThreadBlock
from hocket.simulator import simulate_program
from hocket.simulator.fidelity import STANDARD
from hocket.topology import Topology
from hocket.translator.msccl.profile import Profile

__all__ = ["Predictor"]

_SENDS = np.array([kind.sends for kind in StepType])


@dataclass(frozen=True, eq=False, slots=True)
class Predictor:
    """Simulates each program once: at `size_bytes` (as nccl-tests counts), rounded up to the program's chunks, on
    `placement`'s ranks of a topology (None: rank r on r), by the profile's protocols."""

    profile: Profile
    topology: Topology
    size_bytes: int
    placement: tuple[int, ...] | None = None
    _known: dict[tuple[object, ...], int] = field(default_factory=dict, repr=False)

    def __call__(self, program: Program) -> int:
        """In ps, by simulation."""
        key = _contents(program)
        if key not in self._known:
            passes = self._passes(program)
            found = simulate_program(program, self.topology, passes.size_bytes, passes=passes, placement=self.placement)
            self._known[key] = found.time_ps
        return self._known[key]

    def least_ps(self, program: Program) -> int:
        """The time of the busiest thread block with the bytes that it sends, which does one thing after the other, or
        of the busiest link with those that it carries, whichever is longer; with the launch."""
        passes = self._passes(program)
        blocks = [(rank, block) for rank, gpu in enumerate(program.gpus) for block in gpu.thread_blocks]
        rows = program.rows
        before = np.cumsum(np.append(0, np.where(_SENDS[rows["type"]], rows["count"], 0).astype(np.int64)))
        bounds = np.cumsum([0, *(len(block.steps) for _, block in blocks)])
        channel = np.array([block.channel for _, block in blocks], np.int64)
        sent = passes.chunk_bytes.sum(axis=0)[channel] * (before[bounds[1:]] - before[bounds[:-1]])
        pairs = np.array([(rank, block.send) for rank, block in blocks], np.int64).reshape(-1, 2)
        start, busy = 0, 0
        if passes.pace is not None:
            start, busy = passes.pace.start_ps, int(passes.pace.busy_ps(sent).max(initial=0))
        return start + max(busy, self._links_ps(pairs[sent > 0], channel[sent > 0], sent[sent > 0], passes.wire))

    def _links_ps(
        self, pairs: NDArray[np.int64], channel: NDArray[np.int64], sent: NDArray[np.int64], wire: Fraction
    ) -> int:
        """Of so many bytes from rank to rank (rows of `pairs`)."""
        if self.placement is not None:
            pairs = np.array(self.placement, np.int64)[pairs]
        routing = STANDARD.routed(self.topology)
        flow = channel if routing.policy.seeded else np.zeros_like(channel)
        distinct, of = np.unique(np.column_stack([pairs, flow]), axis=0, return_inverse=True)
        paths = routing.paths(self.topology, distinct[:, :2], distinct[:, 2])
        carried = paths.link_bytes(np.bincount(of.reshape(-1), sent, len(distinct)), self.topology.num_links)
        # a little less: floats are rounded
        return int((carried * (float(wire) * 1e12 * (1 - 1e-9)) / self.topology.bandwidth).max(initial=0))

    def _passes(self, program: Program) -> Passes:
        loop = program.chunks_per_loop
        size = -(-max(self.size_bytes, 1) // loop) * loop
        machine = self.topology.machine.tolist()
        ranks = range(program.num_ranks) if self.placement is None else self.placement
        inside = [machine[place] for place in ranks if place < len(machine)]
        return Passes.of(program, size, self.profile.protocols, inside)


def _contents(program: Program) -> tuple[object, ...]:
    """Equal for programs that do the same: several strategies may come to one."""
    ends = [(len(block.steps), block.send, block.receive, block.channel) for block in _blocks(program)]
    sizes = tuple((gpu.input_chunks, gpu.output_chunks, len(gpu.thread_blocks)) for gpu in program.gpus)
    whole = (program.kind, program.protocol, program.chunks_per_loop, program.in_place)
    return *whole, sizes, np.array(ends, np.int64).tobytes(), program.rows.tobytes()


def _blocks(program: Program) -> Iterator[ThreadBlock]:
    return (block for gpu in program.gpus for block in gpu.thread_blocks)
