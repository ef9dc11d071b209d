"""Switches that compute take part: they keep chunks to send out copies, and to add up what comes in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import (
    EVERYONE,
    AnySchedule,
    Collective,
    Conditions,
    RankSetTable,
    Schedule,
    concatenate,
    retime,
)
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.time_reversal import TimeReversed, best_half
from hocket.topology import eccentricity_ps, switches_as_ranks

__all__ = ["InNetwork"]

# Each costs a look at all chunks.
_MOST_PRIORITIES = 64


@dataclass(frozen=True)
class InNetwork:
    """The engine on the topology whose switches that compute are ranks, which want nothing and may hold everything.

    What is summed up and spread (all_reduce) is added up at switches and spread from there: each rank sends every chunk
    once and gets it once, as in NVLS and SHARP.
    """

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        if not problem.topology.in_network:
            return "no switch computes"
        if not (problem.collective.spreads or problem.collective.reducing):
            return "what goes from one to one is not searched over switches that compute"
        if problem.through is not None or problem.priority is not None:
            return "switches that compute serve one collective at a time"
        return self.engine.why_not(_spreading(problem))

    def seconds(self, problem: Problem) -> float:
        return len(self._engines(problem)) * (1 + problem.has_halves) * self.engine.seconds(_spreading(problem))

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        if problem.has_halves:
            found: Iterator[AnySchedule] = self._at_switches(problem, search)
        else:
            with_switches = _with_switches(problem)
            engines = [TimeReversed(one) if problem.collective.reducing else one for one in self._engines(problem)]
            found = chain.from_iterable(engine.solve(with_switches, search) for engine in engines)
        for schedule in found:
            yield _without_switches(schedule.expand(), problem)

    def _at_switches(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        search = replace(search, target_ps=search.target_ps // 2, tireless=False)
        halves, whole = _halves(problem), _with_switches(problem).collective
        for engine in self._engines(problem):
            first, second = (best_half(engine, half, search) for half in halves)
            if first is not None and second is not None:
                summed, spread = first.expand(), second.expand()
                yield concatenate(summed, _in_order_of(summed, spread), whole)

    def _engines(self, problem: Problem) -> list[Engine]:
        """The engine, and with eager switches where all ranks want all chunks."""
        all_ranks = len(problem.ranks) == problem.topology.num_ranks and problem.collective.conditions is None
        return [self.engine, _Eager(self.engine)] if all_ranks else [self.engine]


@dataclass(frozen=True)
class _Eager:
    """The engine for switches that want every chunk too, so that it comes to them early; what they do not send on is
    dropped. Only where all ranks want all chunks."""

    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def why_not(self, problem: Problem) -> str | None:
        return self.engine.why_not(problem)

    def seconds(self, problem: Problem) -> float:
        return self.engine.seconds(problem)

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        conditions, ranks = problem.collective.conditions, problem.collective.num_ranks
        assert conditions is not None  # problems with switches have some
        everyone = replace(conditions, destination=np.full_like(conditions.destination, EVERYONE))
        asked = replace(problem, collective=Collective.custom(ranks, everyone))
        wanted = np.isin(np.arange(ranks), conditions.members(int(conditions.destination[0]), ranks))
        for schedule in self.engine.solve(asked, search):
            yield _needed(replace(schedule.expand(), collective=problem.collective), wanted)


def _needed(schedule: Schedule, wanted: NDArray[np.bool_]) -> Schedule:
    """Without what comes to ranks that neither want it (`wanted`, by rank) nor send it on."""
    kept, ranks = np.ones(schedule.num_transfers, np.bool_), schedule.collective.num_ranks
    sent, come = schedule.chunk * np.int64(ranks) + schedule.src, schedule.chunk * np.int64(ranks) + schedule.dst
    while (idle := kept & ~wanted[schedule.dst] & ~np.isin(come, sent[kept])).any():
        kept &= ~idle
    columns = ("chunk", "route", "reduce", "start_ps", "finish_ps")
    left = {name: getattr(schedule, name)[kept] for name in columns}
    return retime(replace(schedule, **left, own=schedule.own_of(kept)), schedule.blocking)


@lru_cache(maxsize=4)
def _with_switches(problem: Problem) -> Problem:
    """The problem as conditions on all ranks and switches that compute."""
    lanes = None if problem.lanes is None else problem.lanes.switches_as_ranks()
    topology = switches_as_ranks(problem.topology) if lanes is None else lanes.topology
    collective, sent = problem.collective, problem.demanded
    table = RankSetTable(topology.num_ranks)
    conditions = Conditions(
        collective.renumbered(collective.origin[sent], problem.ranks, table),
        collective.renumbered(collective.destination[sent], problem.ranks, table),
        collective.chunk_bytes[sent],
        table.sets,
    )
    return Problem(Collective.custom(topology.num_ranks, conditions), topology, problem.blocking, lanes=lanes)


def _without_switches(schedule: Schedule, problem: Problem) -> Schedule:
    """A schedule of the problem with switches as one of the problem itself: links and routes are the same."""
    return replace(
        schedule,
        collective=problem.collective,
        topology=problem.topology,
        group=problem.group,
        relays=problem.relays,
        chunk=problem.demanded[schedule.chunk],
    )


def _spreading(problem: Problem) -> Problem:
    """What the engine is asked for, forwards in time."""
    if problem.has_halves:
        return _halves(problem)[1]
    with_switches = _with_switches(problem)
    mirrored = with_switches.mirrored if problem.collective.reducing else None
    return mirrored or with_switches


@lru_cache(maxsize=4)
def _halves(problem: Problem) -> tuple[Problem, Problem]:
    """Sums of all chunks at switches, and what is spread from there. The switches nearest to all ranks take turns; each
    serves its chunks one after the other, so that the halves overlap."""
    with_switches = _with_switches(problem)
    conditions, ranks = with_switches.collective.conditions, with_switches.topology.num_ranks
    assert conditions is not None  # problems with switches have some
    switches, turn = _central(problem, with_switches), np.arange(len(conditions.chunk_bytes))
    owner = switches[turn % len(switches)]
    priority = (turn * min(len(turn), _MOST_PRIORITIES) // len(turn)).astype(np.int32)
    first, second = (
        replace(with_switches, collective=Collective.custom(ranks, half), priority=priority)
        for half in (replace(conditions, destination=owner), replace(conditions, origin=owner))
    )
    return first, second


def _central(problem: Problem, with_switches: Problem) -> NDArray[np.int32]:
    """The switches that compute whose farthest rank is nearest."""
    switches = np.arange(problem.topology.num_ranks, with_switches.topology.num_ranks, dtype=np.int32)
    chunk_bytes, topology = problem.collective.largest_chunk_bytes, with_switches.topology
    there, back = (
        eccentricity_ps(graph, chunk_bytes, switches, problem.ranks)
        for graph in (topology.reversed_graph, topology.graph)
    )
    farthest_ps = np.maximum(there, back)
    nearest: NDArray[np.int32] = switches[farthest_ps == farthest_ps.min()]
    return nearest


def _in_order_of(first: Schedule, second: Schedule) -> Schedule:
    """`second` with its chunks renamed: of each owner, what is summed up earlier is spread earlier."""
    conditions, chunks = second.collective.conditions, second.collective.num_chunks
    assert conditions is not None
    summed_ps, spread_ps = np.zeros(chunks, np.int64), np.full(chunks, second.time_ps)
    np.maximum.at(summed_ps, first.chunk, first.finish_ps)
    np.minimum.at(spread_ps, second.chunk, second.start_ps)
    name = np.empty(chunks, np.int32)
    name[np.lexsort((spread_ps, conditions.origin))] = np.lexsort((summed_ps, conditions.origin))
    return replace(second, chunk=name[second.chunk])
