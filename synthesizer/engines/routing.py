"""Congestion-priced routing and list scheduling: chunks that each go from one rank to another, on any topology."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hocket._core.synthesizer import PacketRouter, Rule
from hocket.schedule import Schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Routing"]

# The price of a link doubles with each 1/20 of the busiest link's load.
_SHARPNESS = 20
_PASSES = 12
# Beyond this many chunks one attempt has to do.
_MANY_CHUNKS = 50_000
_FEW_ATTEMPTS, _MANY_ATTEMPTS = 1, 2
# A pass is scheduled, and by another rule, when that may save two thousandths of the time.
_WORTH_IT = 1_002, 1_000
# A pass looks at no more links than this, if there are few sources; each then takes this long.
_PASS_WORK = 10_000_000
_SECONDS_PER_LINK = 20e-9
_SECONDS_PER_PACKET = 5e-6


@dataclass(frozen=True)
class Routing:
    """Rip-up and re-route (hocket/synthesizer/routing_paths.hpp), then most remaining work first
    (hocket/synthesizer/routing_schedule.hpp): all_to_all, gather and scatter, also of uneven blocks."""

    name: str = "routing"

    def why_not(self, problem: Problem) -> str | None:
        collective = problem.collective
        if problem.through is not None or problem.priority is not None:
            return "it knows no priorities, nor several groups; use `matching`"
        if collective.reducing or collective.spreads:
            return f"it brings each chunk from one rank to one other, which {collective.kind} does not"
        return None

    def seconds(self, problem: Problem) -> float:
        collective, links = problem.collective, problem.topology.num_links
        looked_at = min(collective.num_chunks * links, max(_PASS_WORK, collective.num_ranks * links))
        passes = _attempts(problem) * _PASSES
        return passes * (looked_at * _SECONDS_PER_LINK + collective.num_chunks * _SECONDS_PER_PACKET)

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        quickest = None
        for attempt in range(search.attempts or _attempts(problem)):
            for schedule in _attempt(problem, search, attempt):
                if quickest is None or schedule.time_ps < quickest:
                    quickest = schedule.time_ps
                    yield schedule
                if quickest <= search.target_ps:
                    return


def _attempts(problem: Problem) -> int:
    return _FEW_ATTEMPTS if problem.collective.num_chunks > _MANY_CHUNKS else _MANY_ATTEMPTS


def _worth(busiest_ps: int, quickest_ps: int) -> bool:
    """Whether a schedule could be much quicker, as far as the busiest link goes."""
    return busiest_ps * _WORTH_IT[0] <= quickest_ps * _WORTH_IT[1]


def _attempt(problem: Problem, search: Search, attempt: int) -> Iterator[Schedule]:
    """A schedule whenever a pass leaves the busiest link with less to do than every schedule so far takes."""
    collective, topology = problem.collective, problem.topology
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if problem.group is None else problem.group
    relays = np.zeros(topology.num_ranks, np.uint8)
    relays[:] = problem.relays
    relays[ranks] = 1
    sent = np.flatnonzero(collective.origin != collective.destination).astype(np.int32)
    router = PacketRouter(
        topology.graph,
        ranks[collective.origin[sent]],
        ranks[collective.destination[sent]],
        collective.chunk_bytes[sent],
        relays,
        problem.blocking,
        search.seed + attempt,
    )
    # Where links are ports of switches, the busiest matter; elsewhere both rules come to the same.
    rules = (Rule.LONGEST_WAY, Rule.BUSIEST_LINK) if topology.num_nodes > topology.num_ranks else (Rule.LONGEST_WAY,)
    target_ps, quickest = problem.bound.time_ps, None
    for _ in range(_PASSES):
        router.route(target_ps, _SHARPNESS, search.stop)
        if quickest is not None and not _worth(router.busiest_ps, quickest):
            continue
        target_ps = router.busiest_ps if quickest is None else min(target_ps, router.busiest_ps)
        for rule in rules:
            route_offset, route_links, packet, route, start_ps, finish_ps = router.schedule(rule, search.stop)
            schedule = Schedule(
                collective=collective,
                topology=topology,
                route_offset=route_offset,
                route_links=route_links,
                chunk=sent[packet],
                route=route,
                reduce=np.zeros(len(packet), np.bool_),
                start_ps=start_ps,
                finish_ps=finish_ps,
                timed=True,
                blocking=problem.blocking,
                bound=None,
                generator="routing",
                seed=search.seed,
                group=problem.group,
                relays=problem.relays,
            )
            quickest = schedule.time_ps if quickest is None else min(quickest, schedule.time_ps)
            yield schedule
            if not _worth(router.busiest_ps, schedule.time_ps):
                break
