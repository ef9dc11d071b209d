"""Switches that compute in the search: copies and sums in the network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Schedule, lower_bound, verify
from hocket.synthesizer import ENGINES, Problem, Search, synthesize
from hocket.synthesizer.in_network import InNetwork
from hocket.topology import Topology, switches_as_ranks

GB = 10**9
KINDS = [Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.BROADCAST, Kind.REDUCE]


def star(ranks: int, up: int, down: int, *, computes: bool) -> Topology:
    """Ranks around one switch, `up` bytes/s to it and `down` from it, without latency."""
    links = [link for rank in range(ranks) for link in ((rank, ranks, 0, up), (ranks, rank, 0, down))]
    return Topology.from_links("star", ranks, links, num_switches=1, in_network=[ranks] if computes else [])


@pytest.mark.parametrize("kind", [Kind.BROADCAST, Kind.REDUCE, Kind.ALL_REDUCE])
def test_on_one_switch_the_buffer_crosses_each_port_once(kind: Kind) -> None:
    # 32 chunks of 1 MB over ports of 1 GB/s: 32 ms, and another chunk's millisecond, since the switch stores and
    # forwards. Ranks alone need 2 x 7/8 x 32 ms for the all_reduce.
    chunks = 4 if kind is Kind.ALL_REDUCE else 32
    schedule = synthesize(
        Collective(kind, 8, 32 * 10**6, chunks), star(8, GB, GB, computes=True), engine="matching", attempts=4
    )
    assert verify(schedule).time_ps == 33 * 10**9
    assert isinstance(schedule, Schedule) and (schedule.dst >= 8).any()


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_the_narrow_side_is_crossed_once(kind: Kind) -> None:
    # All_gather of blocks of 4 MB: each rank sends its block once (4 ms at 1 GB/s) and gets seven (at 7 GB/s: 4 ms),
    # instead of sending it seven times. Reduce_scatter is the mirror image.
    up, down = (GB, 7 * GB) if kind is Kind.ALL_GATHER else (7 * GB, GB)
    collective = Collective(kind, 8, 32 * 10**6, 8)
    with_copies, without = (
        synthesize(collective, star(8, up, down, computes=computes), engine="matching", attempts=4)
        for computes in (True, False)
    )
    assert with_copies.bound is not None and without.bound is not None
    assert without.bound.time_ps == without.time_ps == 28 * 10**9
    assert with_copies.time_ps <= 1.3 * 4 * 10**9


def test_promoted_switches_are_ranks_on_the_same_links() -> None:
    topology = Topology.from_links(
        "two", 2, [(0, 2, 5, GB), (2, 3, 6, GB), (3, 1, 7, GB)], num_switches=2, in_network=[3]
    )
    promoted = switches_as_ranks(topology)
    assert (promoted.num_ranks, promoted.num_nodes, promoted.in_network) == (3, 4, ())
    assert list(zip(promoted.src.tolist(), promoted.dst.tolist(), strict=True)) == [(0, 3), (3, 2), (2, 1)]


@st.composite
def computing(draw: st.DrawFn) -> Topology:
    """Some switches, of which some compute, joined to each other in a line, and ranks on one or two of them; a ring of
    the ranks besides, or none."""
    ranks, switches = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    bandwidth = st.sampled_from([GB, 2 * GB, 10 * GB])
    pairs = [(ranks + at, ranks + at + 1) for at in range(switches - 1)]
    for rank in range(ranks):
        homes = draw(st.sets(st.integers(0, switches - 1), min_size=1, max_size=2))
        pairs += [(rank, ranks + home) for home in sorted(homes)]
    if draw(st.booleans()):
        pairs += [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    links = [(*ends, 1000, draw(bandwidth)) for a, b in pairs for ends in ((a, b), (b, a))]
    in_network = draw(st.sets(st.integers(ranks, ranks + switches - 1), min_size=1))
    return Topology.from_links("drawn", ranks, links, num_switches=switches, in_network=sorted(in_network))


@settings(max_examples=60)
@given(
    topology=computing(),
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 10**6),
    chunks=st.integers(1, 4),
    blocking=st.booleans(),
    data=st.data(),
)
def test_any_network_with_switches_that_compute(
    topology: Topology, kind: Kind, size: int, chunks: int, blocking: bool, data: st.DataObject
) -> None:
    collective = Collective(kind, topology.num_ranks, size, chunks, data.draw(st.integers(0, topology.num_ranks - 1)))
    schedule = synthesize(collective, topology, blocking=blocking, attempts=2)
    assert schedule.bound is not None and schedule.bound.time_ps <= verify(schedule).time_ps
    way, problem = InNetwork(ENGINES["matching"]), Problem(collective, topology, blocking)
    for found in way.solve(problem, Search(attempts=2)):
        assert verify(found).time_ps >= problem.bound.time_ps


def test_a_switch_that_computes_beside_one_that_does_not() -> None:
    pairs = [(6, 7), (0, 7), (1, 6), (2, 6), (3, 6), (4, 6), (4, 7), (5, 6)]
    links = [(*end, 1000, GB * (1 + (end == (6, 5)))) for pair in pairs for end in (pair, pair[::-1])]
    topology = Topology.from_links("two", 6, links, num_switches=2, in_network=[6])
    schedule = synthesize(Collective(Kind.ALL_GATHER, 6, 1), topology, attempts=2)
    assert schedule.bound is not None and schedule.bound.time_ps <= verify(schedule).time_ps


def test_groups_use_the_switches_too() -> None:
    # Four of eight ranks: the buffer of 8 MB in 8 chunks of 1 MB crosses each of their ports once, and another chunk's.
    group = np.array([1, 3, 4, 6], np.int32)
    schedule = synthesize(
        Collective(Kind.ALL_REDUCE, 4, 8 * 10**6, 2), star(8, GB, GB, computes=True), group=group, engine="matching"
    )
    assert verify(schedule).time_ps == 9 * 10**9


@pytest.mark.parametrize("kind", [Kind.SCATTER, Kind.GATHER])
@pytest.mark.parametrize("blocking", [False, True])
def test_a_chunk_may_be_stored_at_a_switch_that_computes(kind: Kind, blocking: bool) -> None:
    """Rank 0's port is ten times as wide as the others': a chunk takes it for 100 us only if the switch stores it."""
    wide = kind is Kind.SCATTER
    ports = [(10 * GB if rank == 0 and wide else GB, 10 * GB if rank == 0 and not wide else GB) for rank in range(4)]
    links = [end for rank, (up, down) in enumerate(ports) for end in ((rank, 4, 0, up), (4, rank, 0, down))]
    topology = Topology.from_links("star", 4, links, num_switches=1, in_network=[4])
    fast, slow = 100 * 10**6, 1000 * 10**6  # 1 MB at 10 and at 1 GB/s, in ps
    rows = []
    for at, rank in enumerate((1, 2, 3)):
        first, then = ((0, 2 * rank + 1), (2 * rank, 1))[kind is Kind.GATHER]
        start = at * fast if wide else 0
        middle = start + (fast if wide else slow) + (0 if wide else at * fast)
        rows += [(start, start + (fast if wide else slow), rank, first)]
        rows += [(middle, middle + (slow if wide else fast), rank, then)]
    rows.sort()
    start_ps, finish_ps, chunk, route = np.array(rows).T
    schedule = Schedule(
        collective=Collective(kind, 4, 4 * 10**6),
        topology=topology,
        route_offset=np.arange(topology.num_links + 1, dtype=np.int64),
        route_links=np.arange(topology.num_links, dtype=np.int32),
        chunk=chunk.astype(np.int32),
        route=route.astype(np.int32),
        reduce=np.zeros(len(rows), np.bool_),
        start_ps=np.ascontiguousarray(start_ps),
        finish_ps=np.ascontiguousarray(finish_ps),
        timed=True,
        blocking=blocking,
        bound=None,
        generator="by hand",
        seed=None,
    )
    # three chunks over the wide port one after the other, the last then over a narrow one
    assert verify(schedule).time_ps == 3 * fast + slow
    assert lower_bound(schedule.collective, topology, blocking).time_ps <= 3 * fast + slow


def test_why_not() -> None:
    way = InNetwork(ENGINES["matching"])
    exchange = Problem(Collective(Kind.ALL_TO_ALL, 4, 4000), star(4, GB, GB, computes=True))
    assert way.why_not(exchange) == "what goes from one to one is not searched over switches that compute"
    assert way.why_not(Problem(Collective(Kind.ALL_GATHER, 4, 4000), star(4, GB, GB, computes=False))) is not None
