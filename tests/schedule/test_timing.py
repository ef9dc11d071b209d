"""Dependencies and earliest times: worked examples, and the invariants that hold for any schedule."""

import dataclasses
from itertools import pairwise

import machines
import numpy as np
import pytest
from homes import natives, products
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, dependencies, first_ready_first, retime, verify
from hocket.schedule.algorithms import build
from hocket.topology import Topology, load


def lists(schedule: Schedule) -> list[list[int]]:
    offset, ids = dependencies(schedule)
    return [ids[begin:end].tolist() for begin, end in pairwise(offset)]


@st.composite
def native(draw: st.DrawFn) -> Schedule:
    n = draw(st.sampled_from([2, 3, 4, 5, 8]))
    kind = draw(st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]))
    collective = Collective(kind, n, draw(st.integers(0, 10_000)), draw(st.integers(1, 2)), draw(st.integers(0, n - 1)))
    return draw(natives(collective, draw(st.one_of(machines.topologies(n), st.sampled_from(products(n))))))


def test_ring_waits_for_the_step_before() -> None:
    # 3 ranks, 2 + 2 steps of 3 transfers: from step 1 on each sends what it received in the step before.
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 3, 300), machines.ring(3))
    assert schedule.src.tolist() == [0, 1, 2] * 4
    assert lists(schedule) == [[], [], [], [2], [0], [1], [5], [3], [4], [8], [6], [7]]


def test_a_copy_hides_what_came_before_it_and_a_reduction_adds_to_it() -> None:
    # Rank 1 gets chunk 0 reduced twice (ids 0, 1), copied (2), reduced (3), then sends it (4).
    topology = Topology.from_links("star", 3, [(0, 1, 0, 10**9), (2, 1, 0, 10**9), (1, 2, 0, 10**9)])
    schedule = Schedule(
        collective=Collective(Kind.REDUCE, 3, 1),
        topology=topology,
        route_offset=np.arange(4),
        route_links=np.arange(3, dtype=np.int32),
        chunk=np.zeros(5, np.int32),
        route=np.array([0, 1, 0, 1, 2], np.int32),
        reduce=np.array([True, True, False, True, True]),
        start_ps=np.array([0, 0, 1, 2, 3]),
        finish_ps=np.array([1, 1, 2, 3, 4]),
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )
    # Transfer 3 leaves rank 2, which has received nothing.
    assert lists(schedule) == [[], [], [], [], [2, 3]]


@settings(max_examples=100)
@given(native())
def test_dependencies_are_earlier_deliveries_of_the_chunk_into_the_source(schedule: Schedule) -> None:
    src, dst = schedule.src, schedule.dst
    for transfer, ids in enumerate(lists(schedule)):
        into = (dst == src[transfer]) & (schedule.chunk == schedule.chunk[transfer])
        into &= schedule.finish_ps <= schedule.start_ps[transfer]
        arrived = np.flatnonzero(into)
        copies = arrived[~schedule.reduce[arrived]]
        expected = (
            arrived if len(copies) == 0 else arrived[schedule.finish_ps[arrived] >= schedule.finish_ps[copies[-1]]]
        )
        assert ids == expected.tolist()


@settings(max_examples=150)
@given(native(), st.booleans())
def test_retimed_schedules_are_right_and_as_early_as_can_be(schedule: Schedule, blocking: bool) -> None:
    timed = retime(schedule, blocking)
    report = verify(timed)
    assert report.num_transfers == schedule.num_transfers
    assert report.link_busy_ps.max(initial=0) <= max(1, timed.time_ps)
    again = retime(timed, blocking)
    assert again.start_ps.tolist() == timed.start_ps.tolist()
    # Stretched to the double, the order is the same and the earliest times as well.
    stretched = dataclasses.replace(timed, start_ps=timed.start_ps * 2, finish_ps=timed.finish_ps * 2)
    verify(stretched)
    assert retime(stretched, blocking).time_ps <= timed.time_ps


def test_pipelined_and_blocking_times() -> None:
    # Two chunks of 50 B over one link of 1 GB/s (50,000 ps) and 7 ps: blocking, the second waits for the latency too.
    topology = Topology.from_links("pair", 2, [(0, 1, 7, 10**9), (1, 0, 7, 10**9)])
    schedule = build("direct", Collective(Kind.BROADCAST, 2, 100, 2), topology)
    assert retime(schedule).finish_ps.tolist() == [50_007, 100_007]
    assert retime(schedule, blocking=True).finish_ps.tolist() == [50_007, 100_014]


def test_a_route_serializes_once_per_hop_between_ranks() -> None:
    # 0 -> switch 3 -> 1 -> 2: the switch cuts through (slowest link: 1 GB/s, 100 ns), rank 1 stores (2 GB/s: 50 ns).
    links = [(0, 3, 5, 10**9), (3, 1, 6, 2 * 10**9), (1, 2, 7, 2 * 10**9)]
    schedule = build(
        "direct",
        Collective(Kind.BROADCAST, 2, 100),
        Topology.from_links("line", 3, links, num_switches=1),
        np.array([0, 2], np.int32),
    )
    assert retime(schedule).time_ps == 5 + 6 + 7 + 100_000 + 50_000


def test_refuses_to_change_what_a_reduction_sends() -> None:
    # An exchange of partial sums: each adds the other's. Rank 1's other chunk is in its way, so that it would get
    # rank 0's contribution before it has sent its own, and send both.
    topology = Topology.from_links("pair", 2, [(0, 1, 0, 10**9), (1, 0, 0, 10**9)])
    schedule = Schedule(
        collective=Collective(Kind.ALL_REDUCE, 2, 20),
        topology=topology,
        route_offset=np.arange(3),
        route_links=np.arange(2, dtype=np.int32),
        chunk=np.array([1, 0, 0, 1], np.int32),
        route=np.array([1, 0, 1, 0], np.int32),
        reduce=np.array([True, True, True, False]),
        start_ps=np.array([0, 0, 0, 1]),
        finish_ps=np.array([1, 1, 1, 2]),
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )
    with pytest.raises(
        ScheduleError, match=r"transfer 2 \(chunk 0, rank 1 -> 0, 0..1\) would send other contributions"
    ):
        retime(schedule)


def test_refuses_to_let_a_copy_overwrite_what_was_added() -> None:
    # Rank 1 hands both contributions back to rank 2 as a copy, to which rank 0's is then added. At the earliest times
    # rank 0's would come in first, and be overwritten.
    pairs = [(2, 1), (1, 2), (0, 2)]
    schedule = Schedule(
        collective=Collective(Kind.REDUCE, 3, 1000, root=2),
        topology=Topology.from_links("three", 3, [(src, dst, 1000, 10**9) for src, dst in pairs]),
        route_offset=np.arange(4),
        route_links=np.arange(3, dtype=np.int32),
        chunk=np.zeros(3, np.int32),
        route=np.arange(3, dtype=np.int32),
        reduce=np.array([True, False, True]),
        start_ps=np.arange(3),
        finish_ps=np.arange(1, 4),
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )
    verify(schedule)
    with pytest.raises(ScheduleError, match="chunk 0 would have other contributions in the end"):
        retime(schedule)


def test_takes_copies_of_one_sum_in_any_order() -> None:
    # Rank 0 gets all contributions from rank 1, which tells rank 2; rank 0 then sends rank 2 the same sum once more,
    # which comes in first at the earliest times.
    pairs = [(0, 1), (2, 1), (1, 0), (0, 2), (1, 2)]
    links = [(src, dst, 1000 if (src, dst) != (1, 2) else 10**6, 10**9) for src, dst in pairs]
    schedule = Schedule(
        collective=Collective(Kind.ALL_REDUCE, 3, 1000),
        topology=Topology.from_links("three", 3, links),
        route_offset=np.arange(6),
        route_links=np.arange(5, dtype=np.int32),
        chunk=np.repeat(np.arange(3, dtype=np.int32), 5),
        route=np.tile(np.array([0, 1, 2, 4, 3], np.int32), 3),
        reduce=np.tile(np.array([True, True, False, False, False]), 3),
        start_ps=np.repeat(np.arange(3), 5) * 100 + np.tile(np.array([0, 1, 2, 3, 6]), 3),
        finish_ps=np.repeat(np.arange(3), 5) * 100 + np.tile(np.array([1, 2, 3, 4, 7]), 3),
        timed=False,
        blocking=False,
        bound=None,
        generator="test",
        seed=None,
    )
    verify(schedule)
    verify(retime(schedule))


def test_first_ready_first_overlaps_the_phases_of_pieces() -> None:
    # 4 pieces: reduce_scatter in two nodes, an exchange over the NICs, all_gather inside.
    topology = load("dgx-h100:nodes=2")
    made = retime(build("hierarchical_one_shot", Collective(Kind.ALL_REDUCE, 16, 2**18, 4), topology))
    ordered = first_ready_first(made)
    verify(ordered)
    assert ordered.time_ps < 0.85 * made.time_ps
    moves = [sorted(zip(each.chunk, each.route, each.reduce, strict=True)) for each in (made, ordered)]
    assert moves[0] == moves[1]


@settings(max_examples=60, deadline=None)
@given(native(), st.booleans())
def test_first_ready_first_is_right_and_no_slower(schedule: Schedule, blocking: bool) -> None:
    timed = retime(schedule, blocking)
    ordered = first_ready_first(timed)
    verify(ordered)
    assert ordered.time_ps <= timed.time_ps
