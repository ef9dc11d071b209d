"""One search for process groups whose links are alike: what is found for one is carried over to the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Schedule, verify
from hocket.synthesizer.portfolio import cheapest_s
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.synthesizer.synthesis import solve
from hocket.topology import Topology, keep_links, routes

__all__ = ["MOST_MEMBERS", "solve_alike"]

MOST_MEMBERS = 256
"""Of a group: whether larger ones are alike would be told by a million routes."""


def solve_alike(
    collective: Collective, topology: Topology, groups: Sequence[tuple[int, ...]], affordable_s: float, threads: int = 1
) -> Mapping[tuple[int, ...], Schedule]:
    """A verified schedule of the collective for each of the groups (ranks of the topology), none of which uses others'
    links to ranks. No engine is asked that takes more than about `affordable_s` seconds; the answer is the same on any
    machine and for any number of threads.

    Raises ScheduleError where a group is too large or no engine is as quick, and as `solve`.
    """
    if len(groups[0]) > MOST_MEMBERS:
        raise ScheduleError(f"a group of {len(groups[0])} ranks, more than {MOST_MEMBERS}")
    solved: dict[bytes, tuple[_Links, Schedule]] = {}
    found: dict[tuple[int, ...], Schedule] = {}
    for group in groups:
        links = _Links.of(topology, group)
        if links.form not in solved:
            # Others, on which no other group may be like this one, are left alone.
            kept = np.sort(links.links)
            near = replace(keep_links(topology, kept.astype(np.int64)), in_network=links.computing)
            schedule = _solved(collective, near, group, affordable_s, threads)
            solved[links.form] = links, replace(schedule, topology=topology, route_links=kept[schedule.route_links])
        found[group] = links.carried(*solved[links.form], group)
    return found


def _solved(
    collective: Collective, topology: Topology, group: tuple[int, ...], affordable_s: float, threads: int
) -> Schedule:
    problem = Problem(collective, topology, group=np.array(group, np.int32))
    least_s = cheapest_s(problem)
    if least_s > affordable_s:
        raise ScheduleError(f"its search would take about {least_s:.0f} s, more than {affordable_s:.0f} s")
    search = Search(threads=threads)
    return solve(problem, search, free_chunks=True, affordable_s=affordable_s).schedule.expand()


@dataclass(frozen=True, eq=False)
class _Links:
    """The links (int32) between the ranks of a group in the order in which the routes of all pairs come to them, and
    what tells groups alike: that order, latencies and bandwidths. `computing` are the switches there that compute."""

    links: NDArray[np.int32]
    computing: tuple[int, ...]
    form: bytes

    @classmethod
    def of(cls, topology: Topology, group: tuple[int, ...]) -> "_Links":
        pairs = np.array([(src, dst) for src in group for dst in group if src != dst], np.int32).reshape(-1, 2)
        found = routes(topology.graph, pairs)
        links, order = _by_first(found.links)
        nodes = np.concatenate([topology.src[links], topology.dst[links]])
        told = (found.offset, order, topology.latency_ps[links], topology.bandwidth[links], _by_first(nodes)[1])
        computes = np.isin(nodes, np.array(topology.in_network, np.int32))
        computing = tuple(np.unique(nodes[computes]).tolist())
        return cls(links, computing, b"".join(np.ascontiguousarray(each).tobytes() for each in (*told, computes)))

    def carried(self, first: "_Links", schedule: Schedule, group: tuple[int, ...]) -> Schedule:
        """The first group's schedule as one of the group with these links. Raises ScheduleError where it uses others,
        or the group's is none."""
        place = np.full(schedule.topology.num_links, -1, np.int32)
        place[first.links] = self.links
        moved = place[schedule.route_links]
        if (moved < 0).any():
            used = np.unique(schedule.route)
            schedule, moved = _with_routes(schedule, used, place)
        image = replace(schedule, route_links=moved, group=np.array(group, np.int32))
        verify(image)
        return image


def _with_routes(
    schedule: Schedule, used: NDArray[np.int32], place: NDArray[np.int32]
) -> tuple[Schedule, NDArray[np.int32]]:
    """The schedule with these routes alone, and their links carried over by `place`. Raises ScheduleError where one has
    no place."""
    lengths = np.diff(schedule.route_offset)[used]
    kept = np.zeros(len(schedule.route_offset) - 1, np.bool_)
    kept[used] = True
    links = schedule.route_links[np.repeat(kept, np.diff(schedule.route_offset))]
    if (place[links] < 0).any():
        raise ScheduleError("its schedule takes links that are on no shortest route between its ranks")
    number = np.cumsum(kept) - 1
    fewer = replace(
        schedule,
        route_offset=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        route_links=links,
        route=number[schedule.route].astype(np.int32),
    )
    return fewer, place[links]


def _by_first(values: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct values in the order in which they first come, and the place of each among these."""
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(distinct), np.int64)
    place[order] = np.arange(len(distinct))
    return distinct[order], place[inverse.reshape(-1)]
