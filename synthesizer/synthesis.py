"""Collectives out of one search: spreading chunks to all ranks, forwards or backwards in time, or both in turn."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from hocket._core.synthesizer import Network
from hocket.core.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, concatenate, lower_bound, retime, reverse, verify
from hocket.schedule.algorithms import build_all
from hocket.synthesizer.engines import Engine, Search, TooLargeToSearch
from hocket.topology import Topology, rank_routes

__all__ = ["best_schedule", "synthesize"]

# The search ends at this much of the lower bound, in millionths.
_GOOD_ENOUGH = 1_000_100
# Up to this many deliveries the native algorithms are candidates too: some are optimal where latency counts.
_NATIVE_DELIVERIES = 50_000


def synthesize(
    collective: Collective,
    topology: Topology,
    *,
    engine: str = "auto",
    seed: int = 0,
    attempts: int | None = None,
    blocking: bool = False,
    threads: int = 1,
) -> Schedule:
    """A verified, timed schedule of the collective for the topology, with its lower bound.

    all_gather and broadcast are found by matching over the time-expanded network (the idea of TACOS, Won et al.,
    MICRO 2024); reduce_scatter and reduce are theirs on the reversed topology, run backwards; all_reduce is
    reduce_scatter, then all_gather. With the engine `auto` the native algorithms are candidates too, so the result is
    never slower than theirs; where a search would take hours (switches of hundreds of ports) they are the only ones.

    `attempts` bounds the search (None: as many as the size allows); it stops early within 0.01 % of the lower bound.
    `blocking`: a transfer holds its links for latency + serialization, as in TACOS, instead of serialization only.
    The same arguments give the same schedule on any machine and for any number of `threads`.

    Raises Infeasible when a rank cannot be reached, ScheduleError when collective and topology do not fit together,
    the collective is not one of the above or the engine does not fit the topology.
    """
    if collective.num_ranks != topology.num_ranks:
        raise ScheduleError(f"{collective.describe()} does not fit {topology.name} with its {topology.num_ranks} ranks")
    if attempts is not None and attempts < 1:
        raise ScheduleError(f"attempts must be at least 1, got {attempts}")
    bound = lower_bound(collective, topology, blocking=blocking)
    # In all_reduce each half gets half of the time.
    halves = 2 if collective.kind is Kind.ALL_REDUCE else 1
    search = Search(Engine(engine), seed, attempts, threads, bound.time_ps * _GOOD_ENOUGH // 10**6 // halves)
    schedule = replace(best_schedule(collective, topology, search, blocking), bound=bound, seed=seed)
    verify(schedule)
    return schedule


def best_schedule(collective: Collective, topology: Topology, search: Search, blocking: bool) -> Schedule:
    """What `synthesize` does, neither verified nor compared with a bound."""
    try:
        found = _search_schedule(collective, topology, search, blocking)
    except TooLargeToSearch:
        return _best_native(None, collective, topology, blocking)
    if search.engine is not Engine.AUTO or collective.num_chunks * collective.num_ranks > _NATIVE_DELIVERIES:
        return found
    return _best_native(found, collective, topology, blocking)


def _best_native(best: Schedule | None, collective: Collective, topology: Topology, blocking: bool) -> Schedule:
    """The quickest of `best` and the native algorithms' schedules."""
    for native in build_all(collective, topology):
        if best is not None and native.busiest_link_ps >= best.time_ps:
            continue
        with suppress(ScheduleError):  # some exchange partial sums in a way that exclusive links reorder
            timed = retime(native, blocking)
            if best is None or timed.time_ps < best.time_ps:
                best = timed
    if best is None:
        raise ScheduleError(f"no native algorithm does {collective.describe()} on {topology.name}")
    return best


def _search_schedule(collective: Collective, topology: Topology, search: Search, blocking: bool) -> Schedule:
    kind = collective.kind
    if kind in (Kind.ALL_GATHER, Kind.BROADCAST):
        return retime(_spread(collective, topology, search, blocking), blocking)
    if kind in (Kind.REDUCE_SCATTER, Kind.REDUCE):
        return _sum_up(collective, topology, search, blocking)
    if kind is Kind.ALL_REDUCE:
        first = _sum_up(replace(collective, kind=Kind.REDUCE_SCATTER), topology, search, blocking)
        second = _spread(replace(collective, kind=Kind.ALL_GATHER), topology, search, blocking)
        generator = "+".join(dict.fromkeys([first.generator, second.generator]))
        return replace(concatenate(first, second, collective), generator=generator)
    raise ScheduleError(f"{kind} cannot be synthesized yet; use the native algorithm `direct`")


def _sum_up(collective: Collective, topology: Topology, search: Search, blocking: bool) -> Schedule:
    """A schedule of reduce_scatter or reduce: one of all_gather or broadcast, backwards."""
    forwards = Kind.ALL_GATHER if collective.kind is Kind.REDUCE_SCATTER else Kind.BROADCAST
    schedule = _spread(replace(collective, kind=forwards), topology.reversed(), search, blocking)
    return replace(reverse(schedule), topology=topology)


def _spread(collective: Collective, topology: Topology, search: Search, blocking: bool) -> Schedule:
    """A schedule of all_gather or broadcast: every chunk gets from its origin to all ranks."""
    chunk_bytes = int(collective.chunk_bytes.max())
    routes = rank_routes(topology.graph, max(1, chunk_bytes))
    network = Network(topology.graph, routes.offset, routes.links, chunk_bytes, blocking)
    found = search.run(network, collective.origin)
    return Schedule(
        collective=collective,
        topology=topology,
        route_offset=routes.offset,
        route_links=routes.links,
        chunk=found.chunk,
        route=found.route,
        reduce=np.zeros(len(found.chunk), np.bool_),
        start_ps=found.start_ps,
        finish_ps=found.finish_ps,
        timed=True,
        blocking=blocking,
        bound=None,
        generator=found.engine,
        seed=search.seed,
    )
