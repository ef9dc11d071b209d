"""What the machine's stock library takes for a collective, as `hocket simulate` says it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from hocket.api.parts import Failures
from hocket.api.progress import Progress
from hocket.api.reading import slowed
from hocket.api.simulate.library import StockMachine, stock_machine
from hocket.api.simulate.perform import question_of
from hocket.api.simulate.rccl import rccl_time
from hocket.api.simulate.request import Simulation
from hocket.base.collectives import nccl_name
from hocket.base.errors import HocketError
from hocket.nccl.names import COLLECTIVES
from hocket.schedule import Collective, Pace
from hocket.schedule.kernel_links import with_reach
from hocket.simulator import simulate_collective
from hocket.simulator.algorithm_choice import LIBRARY

__all__ = ["LibraryTimes", "StockTime", "stock_library"]


_DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class StockTime:
    """What the library runs, and how long it takes (ps)."""

    algorithm: str
    time_ps: int


@dataclass(frozen=True, eq=False)
class LibraryTimes:
    """The library on the machines of a topology, for the sizes of one collective; `described` in a sentence. `pace`:
    what its kernels reach of links, where that is known. `by_chunks`: the links are slower than its model has them, so
    that what it runs is simulated on them."""

    collective: Collective
    machine: StockMachine
    pace: Pace | None = None
    by_chunks: bool = False

    @property
    def described(self) -> str:
        return self.machine.assumed[0] + ", chunk by chunk on the slower links" * self.by_chunks

    def at(self, size_bytes: int) -> StockTime | None:
        """None where its model has no time of it."""
        return _taken(self, max(size_bytes, 1))

    def _taken(self, size_bytes: int) -> StockTime | None:
        ranks = self.collective.num_ranks
        parts = ranks if self.collective.kind.cut_by_rank else 1
        whole = -(-size_bytes // parts) * parts  # libraries take whole blocks
        asked = Collective(self.collective.kind, ranks, whole, 1, self.collective.root)
        if self.machine.rccl is not None:
            told = rccl_time(self.machine.rccl, asked.kind, whole)
            return None if told is None else StockTime(told.algorithm.removeprefix("RCCL's model "), told.time_ps)
        topology, pace = self.machine.topology, self.pace
        if (
            pace is not None and nccl_name(asked.kind) not in COLLECTIVES
        ):  # messages, on links as its kernels reach them
            topology = with_reach(topology, pace)
        try:
            found = simulate_collective(asked, topology, LIBRARY, nccl=self.machine.nccl, by_chunks=self.by_chunks)
        except HocketError:
            return None
        name = found.collectives[0].algorithm.removeprefix("NCCL's model ").removeprefix("NCCL ")
        return StockTime("sends and receives" if name == _DIRECT else name, found.time_ps)


@lru_cache(maxsize=4096)
def _taken(library: LibraryTimes, size_bytes: int) -> StockTime | None:
    return library._taken(size_bytes)


def stock_library(
    spec: str, collective: Collective, pace: Pace | None, lacking: Failures, progress: Progress
) -> LibraryTimes | str | None:
    """None where no library is known to run there, a sentence where one does and its times are not known on a topology
    that lacks such things."""
    request = Simulation(what=str(collective.kind), topology=(spec,))
    machine = stock_machine(question_of(request, progress), spec, runs=True, native="none")
    if machine.nccl is None and machine.rccl is None:
        return None
    if lacking == Failures():
        return LibraryTimes(collective, machine, pace)
    if lacking.without:
        return "the library's model is of whole nodes, and --without takes parts of them"
    if machine.nccl is None:
        return "RCCL's model knows no links, and some are slower here"
    return LibraryTimes(collective, replace(machine, topology=slowed(machine.topology, lacking)), pace, by_chunks=True)
