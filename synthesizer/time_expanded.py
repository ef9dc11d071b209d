"""A small problem as a mixed-integer program over the time-expanded network: feasible within a horizon, or not.

The time-expanded network is that of TACOS (Won et al., MICRO 2024) and TE-CCL (Liu et al., SIGCOMM 2024). Unlike these
it has no fixed time step: any schedule can be shifted to the left until each transfer starts at 0, when its chunk
arrives, or when a link of its path is released, so that starts are sums of times for which transfers travel and hold
their links. Over all these sums the program is exact.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["SolverAnswer", "TimeExpanded", "TooLarge"]

_MOST_INSTANTS = 300
_MOST_VARIABLES = 120_000
_FAR = 2**62
_Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


class TooLarge(ScheduleError):
    """The program would have too many instants or variables to be solved in reasonable time."""


@dataclass(frozen=True, eq=False)
class SolverAnswer:
    """Whether there is a schedule within a horizon (None: the search was cut short), and one as columns if so: chunk,
    route, start and finish in picoseconds."""

    feasible: bool | None
    columns: _Columns | None = None


@dataclass(frozen=True, eq=False)
class TimeExpanded:
    """Links between ranks: route r from rank `src[r]` to `dst[r]` holds the physical links `paths[r]` for `hold_ps[r]`
    and delivers after `travel_ps[r]`. Chunk c starts at rank `origin[c]` and is wanted by `wanted[c]` (-1: by all)."""

    num_ranks: int
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    paths: Sequence[NDArray[np.int32]]
    hold_ps: NDArray[np.int64]
    travel_ps: NDArray[np.int64]
    origin: NDArray[np.int32]
    wanted: NDArray[np.int32]

    @classmethod
    def of(cls, problem: Problem, latency: bool = True) -> "TimeExpanded":
        """The problem with all chunks as large as the largest; without `latency` a relaxation of it, since what is
        quicker can only help, with far fewer different times."""
        topology, routes = problem.topology, problem.routes
        paths = [routes.links[begin:end] for begin, end in zip(routes.offset, routes.offset[1:], strict=False)]
        bandwidth = np.array([topology.bandwidth[path].min() for path in paths], np.int64)
        latency_ps = np.array([topology.latency_ps[path].sum() for path in paths], np.int64)
        chunk = int(problem.collective.chunk_bytes.max())
        serialization_ps = np.array([-(-chunk * 10**12 // int(each)) for each in bandwidth], np.int64)
        travel_ps = np.maximum(1, serialization_ps + latency_ps * latency)
        return cls(
            num_ranks=topology.num_ranks,
            src=np.array([topology.src[path[0]] for path in paths], np.int32),
            dst=np.array([topology.dst[path[-1]] for path in paths], np.int32),
            paths=paths,
            hold_ps=travel_ps if problem.blocking else np.maximum(1, serialization_ps),
            travel_ps=travel_ps,
            origin=problem.collective.origin,
            wanted=problem.collective.destination,
        )

    @cached_property
    def times_ps(self) -> list[int]:
        """The different times for which transfers hold links and travel."""
        return sorted({*self.hold_ps.tolist(), *self.travel_ps.tolist()})

    def instants(self, until_ps: int) -> list[int]:
        """The times below `until_ps` at which something can start or end, ascending. Raises TooLarge."""
        found, new = {0}, [0]
        while new:
            instant = new.pop()
            for time in self.times_ps:
                later = instant + time
                if later < until_ps and later not in found:
                    found.add(later)
                    new.append(later)
            if len(found) > _MOST_INSTANTS:
                raise TooLarge(f"more than {_MOST_INSTANTS} instants at which transfers could start")
        return sorted(found)

    def decide(self, horizon_ps: int, search: Search, max_nodes: int) -> SolverAnswer:
        """Whether some schedule ends by the horizon; exact unless it was stopped or took more than `max_nodes` nodes of
        the solver's tree. Raises TooLarge."""
        return _Program(self, horizon_ps).solve(search, max_nodes)

    def earliest_ps(self, origin: int) -> NDArray[np.int64]:
        """When a chunk can be at each rank at the earliest (Dijkstra)."""
        time = np.full(self.num_ranks, _FAR, np.int64)
        time[origin] = 0
        queue = [(0, origin)]
        while queue:
            now, rank = heapq.heappop(queue)
            if now > time[rank]:
                continue
            for route in np.flatnonzero(self.src == rank).tolist():
                later, there = now + int(self.travel_ps[route]), int(self.dst[route])
                if later < time[there]:
                    time[there] = later
                    heapq.heappush(queue, (later, there))
        return time


class _Program:
    """Binary variable: route r starts to carry chunk c at instant i. Continuous: chunk c is at rank v at instant i."""

    def __init__(self, network: TimeExpanded, horizon_ps: int) -> None:
        self.network = network
        self.instants = np.array(network.instants(horizon_ps), np.int64)
        earliest = {int(rank): network.earliest_ps(int(rank)) for rank in np.unique(network.origin)}
        chunks = range(len(network.origin))
        starts = [
            (route, chunk, at)
            for route in range(len(network.src))
            for chunk in chunks
            if network.dst[route] != network.origin[chunk]
            for at in np.flatnonzero(
                (self.instants >= earliest[int(network.origin[chunk])][network.src[route]])
                & (self.instants + network.travel_ps[route] <= horizon_ps)
            ).tolist()
        ]
        if len(starts) > _MOST_VARIABLES:
            raise TooLarge(f"{len(starts)} choices of a link, chunk and time (limit {_MOST_VARIABLES})")
        self.route, self.chunk, self.at = np.array(starts, np.int64).reshape(-1, 3).T
        self.rows: list[tuple[NDArray[np.int64], NDArray[np.float64], float, float]] = []
        self._deliver()
        self._share_links()
        self._hold_before_sending()

    def _row(self, ids: NDArray[np.int64], values: NDArray[np.float64] | float, low: float, high: float) -> None:
        self.rows.append((ids, np.broadcast_to(np.asarray(values, np.float64), ids.shape), low, high))

    def _deliver(self) -> None:
        """Each chunk is delivered once to who wants it, and at most once to others."""
        network = self.network
        key = network.dst[self.route] * len(network.origin) + self.chunk
        order = np.argsort(key, kind="stable")
        borders = np.searchsorted(key[order], np.arange(network.num_ranks * len(network.origin) + 1))
        for rank in range(network.num_ranks):
            for chunk in range(len(network.origin)):
                if rank == network.origin[chunk]:
                    continue
                at = rank * len(network.origin) + chunk
                wanted = network.wanted[chunk] in (-1, rank)
                self._row(order[borders[at] : borders[at + 1]], 1.0, float(wanted), 1.0)

    def _share_links(self) -> None:
        """At each instant a physical link is held by one transfer at most."""
        network = self.network
        start = self.instants[self.at]
        end = start + network.hold_ps[self.route]
        for link in np.unique(np.concatenate(network.paths)).tolist():
            over = np.array([link in path for path in network.paths])
            ids = np.flatnonzero(over[self.route])
            for instant in self.instants.tolist():
                held = ids[(start[ids] <= instant) & (instant < end[ids])]
                if len(held) > 1:
                    self._row(held, 1.0, -np.inf, 1.0)

    def _hold_before_sending(self) -> None:
        """A rank sends what it holds: a chain of variables says from when on it does."""
        network, first = self.network, len(self.route)
        arrival = np.searchsorted(self.instants, self.instants[self.at] + network.travel_ps[self.route])
        count = first
        for chunk in range(len(network.origin)):
            of_chunk = self.chunk == chunk
            for rank in range(network.num_ranks):
                if rank == network.origin[chunk]:
                    continue
                into = np.flatnonzero(of_chunk & (network.dst[self.route] == rank))
                out = np.flatnonzero(of_chunk & (network.src[self.route] == rank))
                for at in range(len(self.instants)):
                    here = count + at
                    landing = into[arrival[into] == at]
                    before = [here - 1] if at else []
                    ids = np.concatenate([[here], before, landing]).astype(np.int64)
                    self._row(ids, np.array([1.0] + [-1.0] * (len(ids) - 1)), 0.0, 0.0)
                    for send in out[self.at[out] == at]:
                        self._row(np.array([send, here]), np.array([1.0, -1.0]), -np.inf, 0.0)
                count += len(self.instants)
        self.num_columns = count

    def solve(self, search: Search, max_nodes: int) -> SolverAnswer:
        import highspy

        if any(len(ids) == 0 and low > 0 for ids, _, low, _ in self.rows):
            return SolverAnswer(False)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self.num_columns, len(self.rows)
        program.col_cost_ = np.zeros(self.num_columns)
        program.col_lower_, program.col_upper_ = np.zeros(self.num_columns), np.ones(self.num_columns)
        program.row_lower_ = np.array([low for _, _, low, _ in self.rows])
        program.row_upper_ = np.array([high for _, _, _, high in self.rows])
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.cumsum([0, *(len(ids) for ids, _, _, _ in self.rows)])
        program.a_matrix_.index_ = np.concatenate([ids for ids, _, _, _ in self.rows])
        program.a_matrix_.value_ = np.concatenate([values for _, values, _, _ in self.rows])
        binary = len(self.route)
        program.integrality_ = [highspy.HighsVarType.kInteger] * binary + [highspy.HighsVarType.kContinuous] * (
            self.num_columns - binary
        )
        solver = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("random_seed", search.seed % 2**31),
            ("time_limit", search.progress.seconds_left),
            ("mip_max_nodes", max_nodes),
        ):
            solver.setOptionValue(option, value)
        for callback in (solver.cbMipInterrupt, solver.cbSimplexInterrupt):
            callback.subscribe(lambda event: event.interrupt(search.stop.asked))
        solver.passModel(program)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return SolverAnswer(False)
        if status != highspy.HighsModelStatus.kOptimal:
            return SolverAnswer(None)
        chosen = np.flatnonzero(np.array(solver.getSolution().col_value[:binary]) > 0.5)
        chosen = chosen[np.lexsort((self.route[chosen], self.at[chosen]))]
        start = self.instants[self.at[chosen]]
        return SolverAnswer(
            True,
            (
                self.chunk[chosen].astype(np.int32),
                self.route[chosen].astype(np.int32),
                start,
                start + self.network.travel_ps[self.route[chosen]],
            ),
        )
