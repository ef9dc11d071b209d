"""One run of the engine `rounds`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hocket._core import synthesizer as core
from hocket.base.errors import ScheduleError
from hocket.base.memory import machine_bytes
from hocket.base.units import format_bytes
from hocket.base.version import __version__
from hocket.schedule import Symmetry
from hocket.schedule.symmetry import NONE
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["RoundRun", "RoundVariant"]


@dataclass(frozen=True)
class RoundVariant:
    """After how many rounds a chunk is sent on, and whether rare chunks come first."""

    rounds_per_hop: int
    rarest: bool


@dataclass(frozen=True)
class RoundRun:
    """Attempt `number` of a search, in which only representatives of `symmetry`, flips of the problem, pick."""

    problem: Problem
    search_for: Search
    variant: RoundVariant
    number: int
    symmetry: Symmetry = NONE

    @cached_property
    def times(self) -> core.RoundTimes:
        """When rounds happen."""
        return core.round_times(self.problem.network, self.variant.rounds_per_hop)

    def start(self, sink: core.RoundSink, below_ps: int) -> core.RoundSearch:
        """A search that hands all picks to the sink, unless it would not take less than `below_ps`.

        Raises ScheduleError when the machine has not enough memory.
        """
        self._require_memory()
        network, ranks = self.problem.network, np.arange(self.problem.network.num_ranks)
        images = [self.symmetry.act(element, ranks).astype(np.int32) for element, _ in self.symmetry.steps]
        return core.RoundSearch(
            network,
            core.Orbits(network.num_ranks, np.concatenate([np.zeros(0, np.int32), *images])),
            self.problem.collective.origin,
            self.variant.rounds_per_hop,
            self.variant.rarest,
            self.search_for.seed,
            self.number,
            self.search_for.threads,
            below_ps,
            sink,
            self.search_for.stop,
        )

    def __str__(self) -> str:
        """All that decides what the search finds."""
        problem, collective = self.problem, self.problem.collective
        return (
            f"hocket {__version__}: {collective.kind} {collective.size_bytes} bytes, chunks per rank "
            f"{collective.chunks_per_rank}, root {collective.root}, topology {problem.topology.fingerprint}, blocking "
            f"{problem.blocking}, seed {self.search_for.seed}, attempt {self.number}, {self.variant}, {self.symmetry}"
        )

    def _require_memory(self) -> None:
        network, collective = self.problem.network, self.problem.collective
        needed = core.round_search_bytes(
            network.num_ranks,
            network.num_links,
            collective.num_chunks,
            self.symmetry.order,
            self.variant.rounds_per_hop,
        )
        memory = machine_bytes()
        if needed > memory:
            raise ScheduleError(
                f"a search for {collective.describe()} on {self.problem.topology.name} needs {format_bytes(needed)} of "
                f"memory, and this machine has {format_bytes(memory)}; take fewer chunks per rank"
            )
