"""What the machine's stock library takes for a collective, by its own choice and by others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hocket.api.parts import Failures
from hocket.api.progress import Progress
from hocket.api.reading import slowed
from hocket.api.simulate.library import StockMachine, sound_topology, stock_machine, with_own_links
from hocket.api.simulate.perform import question_of
from hocket.api.simulate.rccl import rccl_time
from hocket.api.simulate.request import Simulation
from hocket.base.collectives import nccl_name
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes, format_time
from hocket.nccl import NcclModel
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.nccl.programs.counting import num_messages
from hocket.nccl.programs.spec import NcclAlgorithm
from hocket.nccl.words import NCCL
from hocket.schedule import Collective, Pace
from hocket.schedule.kernel_links import with_reach
from hocket.simulator import simulate_collective
from hocket.simulator.algorithm_choice import LIBRARY
from hocket.topology import Topology
from hocket.translator.interpreter_costs import machines_of

__all__ = ["OF_RCCL", "LibraryTimes", "StockTime", "beside_stock", "is_foreign", "stock_library", "stock_of"]

OF_RCCL = "rccl"
"""The runtime whose programs RCCL's kernels run."""

_DIRECT = "direct"
_PS = 10**6  # of a us
_MOST_MESSAGES = 2**18  # what makes more is not simulated: it would take seconds


@dataclass(frozen=True, slots=True)
class StockTime:
    """What the library runs, and how long it takes (ps)."""

    algorithm: str
    time_ps: int


@dataclass(frozen=True, eq=False)
class LibraryTimes:
    """The library on the machines of a topology, for the sizes of one collective; `described` in a sentence. `pace`:
    what its kernels reach of links, where that is known. `sound`: the machines with the links that its model knows,
    where theirs are others: a collective then takes what the model says, and as much more as its messages, simulated
    chunk by chunk, take longer than there."""

    collective: Collective
    machine: StockMachine
    pace: Pace | None = None
    sound: Topology | None = None

    @property
    def described(self) -> str:
        slower = ", and what its programs take longer, chunk by chunk, on these links"
        return self.machine.assumed[0] + slower * (self.sound is not None)

    @property
    def name(self) -> str:
        return "NCCL" if self.machine.rccl is None else "RCCL"

    @property
    def is_by_model(self) -> bool:
        """Whether its model tells all times, so that nothing can be quicker than what it chooses by it."""
        nccl = self.machine.nccl
        return self.sound is None and (nccl is None or all(nccl.timed_by(name) is nccl for name in PROTOCOLS))

    def at(self, size_bytes: int) -> StockTime | None:
        """By the library's own choice. None where its model has no time of it."""
        return _taken(self, max(size_bytes, 1))

    def quicker(self, size_bytes: int) -> tuple[StockTime, ...]:
        """Other algorithms and protocols of NCCL that take less than its own choice, as far as their times are known:
        on other links than the model knows at least what their messages take. There may be some by what was measured,
        on slower links, or where NICs report other latencies than they take."""
        return _quicker(self, max(size_bytes, 1))

    def _others(self, size_bytes: int) -> Iterator[StockTime]:
        own, nccl, asked = self.at(size_bytes), self.machine.nccl, self._asked(size_bytes)
        name, size = nccl_name(asked.kind), asked.size_bytes
        if own is None or nccl is None or name not in COLLECTIVES:
            return
        measured = None if nccl.measured is None else nccl.measured.times_us(nccl, name, [size])[:, :, 0]
        for term in nccl.terms(name, size):
            other = f"{term.algorithm}/{term.protocol}"
            at = ALGORITHMS.index(term.algorithm), PROTOCOLS.index(term.protocol)
            if term.out or other == own.algorithm or (measured is not None and not np.isfinite(measured[at])):
                continue
            time_ps = round(nccl.takes_us(name, term, size) * _PS)
            if time_ps >= own.time_ps:
                continue
            found = self._on_links(nccl, asked, other)
            time_ps = max(time_ps + found.more_ps, found.time_ps)
            if found.is_known and time_ps < own.time_ps:
                yield StockTime(other, time_ps)

    def _asked(self, size_bytes: int) -> Collective:
        ranks = self.collective.num_ranks
        parts = ranks if self.collective.kind.cut_by_rank else 1
        whole = -(-size_bytes // parts) * parts  # libraries take whole blocks
        return Collective(self.collective.kind, ranks, whole, 1, self.collective.root)

    def _taken(self, size_bytes: int) -> StockTime | None:
        asked = self._asked(size_bytes)
        if self.machine.rccl is not None:
            told = rccl_time(self.machine.rccl, asked.kind, asked.size_bytes)
            return None if told is None else StockTime(told.algorithm.removeprefix("RCCL's model "), told.time_ps)
        topology, pace, nccl = self.machine.topology, self.pace, self.machine.nccl
        as_messages = nccl_name(asked.kind) not in COLLECTIVES
        if pace is not None and as_messages:  # on links as its kernels reach them
            topology = with_reach(topology, pace)
        try:
            found = simulate_collective(asked, topology, LIBRARY, nccl=nccl)
        except HocketError:
            return None
        name = found.collectives[0].algorithm.removeprefix("NCCL's model ").removeprefix("NCCL ")
        if as_messages or nccl is None:
            return StockTime("sends and receives" if name == _DIRECT else name, found.time_ps)
        on_links = self._on_links(nccl, asked, name)
        return StockTime(name, max(found.time_ps + on_links.more_ps, on_links.bound_ps))

    def _on_links(self, nccl: NcclModel, asked: Collective, name: str) -> _OnLinks:
        """Of an algorithm and protocol; of sizes that make too many messages what smaller ones say, in proportion.
        Nothing where no program is known."""
        if self.sound is None:
            return _OnLinks()
        algorithm, sized = f"{NCCL}:{name.lower()}", asked
        try:
            while num_messages(NcclAlgorithm.of(algorithm).call(nccl, sized)) > _MOST_MESSAGES:
                sized = self._asked(sized.size_bytes // 2)
            here, there = (
                simulate_collective(sized, links, algorithm, nccl=nccl) for links in (self.machine.topology, self.sound)
            )
        except HocketError:
            return _OnLinks(is_known=False)
        if not all(found.collectives[0].algorithm.startswith("NCCL ") for found in (here, there)):
            return _OnLinks(is_known=False)
        times = asked.size_bytes / sized.size_bytes
        more_ps = max(0, here.time_ps - there.time_ps)
        bound_ps = here.bound_ps or 0
        return _OnLinks(round(more_ps * times), round(here.time_ps * times), round(bound_ps * times))


@dataclass(frozen=True, slots=True)
class _OnLinks:
    """How much longer messages take than on the links that a model knows, how long in all, and at least (ps)."""

    more_ps: int = 0
    time_ps: int = 0
    bound_ps: int = 0
    is_known: bool = True


@lru_cache(maxsize=4096)
def _taken(library: LibraryTimes, size_bytes: int) -> StockTime | None:
    return library._taken(size_bytes)


@lru_cache(maxsize=4096)
def _quicker(library: LibraryTimes, size_bytes: int) -> tuple[StockTime, ...]:
    return tuple(library._others(size_bytes))


def stock_library(
    spec: str, collective: Collective, pace: Pace | None, lacking: Failures, progress: Progress
) -> LibraryTimes | str | None:
    """None where no library is known to run there, a sentence where one does and its times are not known on a topology
    that lacks such things."""
    machine = _machine_of(spec, collective, progress)
    if machine.nccl is None and machine.rccl is None:
        return None
    if lacking.without:
        return "the library's model is of whole nodes, and --without takes parts of them"
    is_slowed = lacking != Failures()
    if machine.nccl is None:
        return (
            "RCCL's model knows no links, and some are slower here"
            if is_slowed
            else LibraryTimes(collective, machine, pace)
        )
    others = is_slowed or with_own_links(machine.topology, spec) is not None
    sound = sound_topology(machine, spec) if others else None
    on_links = replace(machine, topology=slowed(machine.topology, lacking)) if is_slowed else machine
    return LibraryTimes(collective, on_links, pace, sound)


def stock_of(topology: Topology, collective: Collective, pace: Pace | None, progress: Progress) -> LibraryTimes | None:
    """As `stock_library` of a topology that says, by its name at least, which machines its ranks are; None, too, where
    their times are not known on its links."""
    if topology.num_ranks != collective.num_ranks:
        return None
    try:
        found = stock_library(machines_of(topology), collective, pace, Failures(), progress)
    except HocketError:  # no machines, or a file that is here no more
        return None
    if not isinstance(found, LibraryTimes):
        return None
    named = found.machine.topology
    alike = replace(topology, in_network=named.in_network)
    if alike.fingerprint == named.fingerprint:
        return found
    if found.machine.nccl is None or (alike.num_ranks, alike.num_nodes) != (named.num_ranks, named.num_nodes):
        return None
    return replace(found, machine=replace(found.machine, topology=alike), sound=found.sound or named)


def is_foreign(library: LibraryTimes, runtime: str, *, has_costs: bool) -> bool:
    """Whether the runtime's kernels are another vendor's than the machine's, and nobody measured what they take."""
    return library.machine.rccl is not None and runtime != OF_RCCL and not has_costs


def beside_stock(library: LibraryTimes, size_bytes: int, time_ps: int) -> str | None:
    """What a program of so many ps is to be held against; None where the library's time is not known."""
    stock = library.at(size_bytes)
    if stock is None:
        return None
    quicker = ": stock is quicker" * (stock.time_ps < time_ps)
    of = stock.algorithm.replace("/", ", ")
    return (
        f"stock {library.name} here {format_time(stock.time_ps)} ({of}), this program {format_time(time_ps)}"
        f" at {format_bytes(size_bytes)}{quicker}"
    )


def _machine_of(spec: str, collective: Collective, progress: Progress) -> StockMachine:
    request = Simulation(what=str(collective.kind), topology=(spec,))
    return stock_machine(question_of(request, progress), spec, runs=True, native="none")
