"""Congestion-priced routing and list scheduling: chunks that each go from one rank to another, on any topology."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hocket._core.synthesizer import PacketRouter, Rule
from hocket.schedule import Schedule
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

if TYPE_CHECKING:
    from hocket._core.synthesizer import RoutedTransfers

__all__ = ["ENGINES", "Routing"]

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
# Behind switches each packet that is scheduled looks at those of all ranks; beyond so many seconds in all it ends.
_SECONDS_PER_RIVAL = 60e-9
_LISTS_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Routing(NamedEngine):
    """Rounds where switches join all pairs (hocket/synthesizer/routing/rounds.hpp), then rip-up and re-route
    (hocket/synthesizer/routing/paths.hpp) and most remaining work first (hocket/synthesizer/routing/schedule.hpp):
    all_to_all, gather and scatter, also of uneven blocks."""

    name: str = "routing"
    summary: str = "load balanced over all routes"
    collectives: str = "all_to_all, gather, scatter"
    needs: str = "any"
    size: str = "hundreds of ranks"

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
        lists = min(_lists(problem), passes * len(_rules(problem))) * _list_s(problem)
        return lists + passes * (looked_at * _SECONDS_PER_LINK + collective.num_chunks * _SECONDS_PER_PACKET)

    def solve(self, problem: Problem, search: Search) -> Iterator[Schedule]:
        quickest = None
        for attempt in range(search.attempts or _attempts(problem)):
            for schedule in _attempt(problem, search, attempt, quickest):
                if quickest is None or schedule.time_ps < quickest:
                    quickest = schedule.time_ps
                    yield schedule
                if quickest <= search.target_ps:
                    return


def _attempts(problem: Problem) -> int:
    return _FEW_ATTEMPTS if problem.collective.num_chunks > _MANY_CHUNKS else _MANY_ATTEMPTS


def _rules(problem: Problem) -> tuple[Rule, ...]:
    """Where links are ports of switches, the busiest matter; elsewhere both rules come to the same."""
    return (Rule.LONGEST_WAY, Rule.BUSIEST_LINK) if _switched(problem) else (Rule.LONGEST_WAY,)


def _switched(problem: Problem) -> bool:
    return problem.topology.num_nodes > problem.topology.num_ranks


def _list_s(problem: Problem) -> float:
    """What scheduling by a rule takes beyond the routing; little but behind switches."""
    collective = problem.collective
    return collective.num_chunks * collective.num_ranks * _SECONDS_PER_RIVAL if _switched(problem) else 0.0


def _lists(problem: Problem) -> int:
    """How many schedules by a rule an attempt may make."""
    return max(1, int(_LISTS_S / max(_list_s(problem), 1e-3)))


def _worth(busiest_ps: int, quickest_ps: int) -> bool:
    """Whether a schedule could be much quicker, as far as the busiest link goes."""
    return busiest_ps * _WORTH_IT[0] <= quickest_ps * _WORTH_IT[1]


def _attempt(problem: Problem, search: Search, attempt: int, quickest: int | None) -> Iterator[Schedule]:
    """A schedule whenever a pass leaves the busiest link with less to do than every schedule so far takes, of which
    the best takes `quickest` (None: there is none)."""
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
    target_ps, lists = problem.bound.time_ps, _lists(problem)
    if attempt == 0 and _switched(problem) and (rounds := router.rounds(search.stop)) is not None:
        schedule = _schedule(problem, search, sent, rounds)
        quickest = schedule.time_ps
        yield schedule
    for _ in range(_PASSES):
        router.route(target_ps, _SHARPNESS, search.stop)
        if quickest is not None and not _worth(router.busiest_ps, quickest):
            continue
        target_ps = router.busiest_ps if quickest is None else min(target_ps, router.busiest_ps)
        for rule in _rules(problem):
            if lists == 0:
                return
            lists -= 1
            schedule = _schedule(problem, search, sent, router.schedule(rule, search.stop))
            quickest = schedule.time_ps if quickest is None else min(quickest, schedule.time_ps)
            yield schedule
            if not _worth(router.busiest_ps, schedule.time_ps):
                break


def _schedule(problem: Problem, search: Search, sent: NDArray[np.int32], found: "RoutedTransfers") -> Schedule:
    """The packets' transfers as those of the chunks that are `sent`."""
    route_offset, route_links, packet, route, start_ps, finish_ps = found
    return Schedule(
        collective=problem.collective,
        topology=problem.topology,
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


ENGINES = (Routing(),)
