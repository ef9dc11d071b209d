"""Random folded schedules of small products, made by transfers at random that break no rule."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hocket.schedule import (
    Collective,
    FoldedSchedule,
    Kind,
    Motion,
    Phase,
    Symmetry,
    TransferColumns,
    concatenate,
    reverse,
)
from hocket.topology import Dimension, Topology
from hocket.topology.builders import product

FOLDED_KINDS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.ALL_TO_ALL, Kind.BROADCAST, Kind.REDUCE)


@st.composite
def symmetric_topologies(draw: st.DrawFn) -> tuple[Topology, Symmetry]:
    """A product of two dimensions at most, and a symmetry that it has."""
    sizes = draw(st.sampled_from([(2,), (3,), (4,), (5,), (2, 2), (3, 2), (2, 4), (3, 3)]))
    dimensions, motions = [], []
    for size in sizes:
        kind = draw(st.sampled_from(["ring", "mesh", "fully_connected"]))
        latency, bandwidth = draw(st.sampled_from([0, 7, 1000])), draw(st.sampled_from([10**9, 3 * 10**9]))
        dimensions.append(Dimension(kind, size, latency, bandwidth))
        allowed = [Motion.STAY]
        allowed += [Motion.FLIP] if size % 2 == 0 else []
        allowed += [Motion.SHIFT] if kind != "mesh" or size == 2 else []
        motions.append(draw(st.sampled_from(allowed)))
    return product("random", dimensions), Symmetry(sizes, tuple(motions))


@st.composite
def folded_schedules(draw: st.DrawFn, remainders: bool = True) -> FoldedSchedule:
    """A right one, of chunks that may differ in size by `remainders`."""
    topology, symmetry = draw(symmetric_topologies())
    kinds = FOLDED_KINDS if symmetry.order == 1 else FOLDED_KINDS[:4]
    kind, blocking, seed = draw(st.sampled_from(kinds)), draw(st.booleans()), draw(st.integers(0, 99))
    chunks = draw(st.integers(1, 2))
    size_bytes = 10 * topology.num_ranks * chunks + (draw(st.integers(0, 3)) if remainders else 0)
    collective = Collective(kind, topology.num_ranks, size_bytes, chunks)
    if kind is Kind.ALL_REDUCE:
        halves = [replace(collective, kind=half) for half in (Kind.REDUCE_SCATTER, Kind.ALL_GATHER)]
        parts = [random_schedule(half, topology, symmetry, blocking, seed) for half in halves]
        return concatenate(*parts, collective)
    return random_schedule(collective, topology, symmetry, blocking, seed)


def random_schedule(
    collective: Collective, topology: Topology, symmetry: Symmetry, blocking: bool, seed: int
) -> FoldedSchedule:
    if collective.reducing:
        mirror = {Kind.REDUCE_SCATTER: Kind.ALL_GATHER, Kind.REDUCE: Kind.BROADCAST}[collective.kind]
        copied = random_schedule(replace(collective, kind=mirror), topology.reversed(), symmetry, blocking, seed)
        return replace(reverse(copied), topology=topology)
    empty = TransferColumns(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))
    into = np.flatnonzero(symmetry.home(topology.dst) == 0).astype(np.int32)
    offset = np.arange(len(into) + 1)
    schedule = FoldedSchedule(
        collective, topology, symmetry, (Phase(offset, into, empty),), blocking, None, "random", seed
    )
    columns = _spread(schedule, into) if collective.kind is not Kind.ALL_TO_ALL else _carry(schedule, into)
    order = np.argsort(columns[2], kind="stable")
    chunk, route, start = (np.array(column, np.int64)[order] for column in columns)
    transfers = TransferColumns(chunk.astype(np.int32), route.astype(np.int32), start)
    return replace(schedule, phases=(Phase(offset, into, transfers),))


def _times(schedule: FoldedSchedule) -> tuple[np.ndarray, np.ndarray]:
    (phase,) = schedule.phases
    duration = schedule.durations(phase)
    latency = schedule.topology.latency_ps[phase.route_links]
    hold = duration if schedule.blocking else np.minimum(duration, duration - latency)
    return hold, duration


def _spread(schedule: FoldedSchedule, into: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """Every link into a representative in turn takes a random chunk that is not there, when it is at its source."""
    rng = np.random.default_rng(schedule.seed)
    topology, symmetry, collective = schedule.topology, schedule.symmetry, schedule.collective
    hold, duration = _times(schedule)
    orbit = schedule.links.first[into]
    free = dict.fromkeys(orbit.tolist(), 0)
    src, dst = topology.src[into], topology.dst[into]
    chunks = np.arange(collective.num_chunks)
    arrival = {int(rank): np.where(collective.origin == rank, 0, -1) for rank in np.unique(dst)}
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    while any((times < 0).any() for times in arrival.values()):
        link = int(rng.integers(len(into)))
        home = symmetry.home(src[link])
        seen = symmetry.act_on_chunks(collective, home, chunks)
        there = arrival[int(symmetry.act(home, src[link]))][seen]
        able = np.flatnonzero((there >= 0) & (arrival[int(dst[link])] < 0))
        if len(able) == 0:
            continue
        chunk = int(rng.choice(able))
        start = max(int(there[chunk]), free[int(orbit[link])]) + int(rng.integers(2)) * 5
        free[int(orbit[link])] = start + int(hold[link])
        arrival[int(dst[link])][chunk] = start + int(duration[link])
        for column, value in zip(columns, (chunk, link, start), strict=True):
            column.append(value)
    return columns


def _carry(schedule: FoldedSchedule, into: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """Every chunk of representatives walks at random until it is there; told of the link that ends at home."""
    rng = np.random.default_rng(schedule.seed)
    topology, symmetry, collective = schedule.topology, schedule.symmetry, schedule.collective
    hold, duration = _times(schedule)
    orbit = schedule.links.first[into]
    free = dict.fromkeys(orbit.tolist(), 0)
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    sources = np.flatnonzero(symmetry.home(collective.origin) == 0)
    for chunk in rng.permutation(sources):
        at, ready = int(collective.origin[chunk]), 0
        while at != collective.destination[chunk]:
            out = np.flatnonzero(topology.src == at)
            to = int(topology.dst[rng.choice(out)])
            home = symmetry.home(to)
            ends = symmetry.act(home, at), symmetry.act(home, to)
            (link,) = np.flatnonzero((topology.src[into] == ends[0]) & (topology.dst[into] == ends[1]))[:1]
            start = max(ready, free[int(orbit[link])])
            free[int(orbit[link])] = start + int(hold[link])
            at, ready = to, start + int(duration[link])
            image = int(symmetry.act_on_chunks(collective, home, chunk))
            for column, value in zip(columns, (image, int(link), start), strict=True):
                column.append(value)
    return columns
