"""What crosses between parts of the ranks in time: worked out by hand, and never above what a schedule takes."""

import dataclasses

import numpy as np
import pytest
from homes import natives
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Schedule, bound_of_any_chunks, retime, verify
from hocket.topology import Topology, load

NS, US = 10**3, 10**6


@st.composite
def far_apart(draw: st.DrawFn) -> Topology:
    """Machines whose ranks a switch joins, over a switch of all: latencies of about what a few kB take, some none,
    links that differ, trunks, and some direct links."""
    machines, each = draw(st.sampled_from([(1, 4), (2, 2), (3, 2), (2, 3), (4, 1), (5, 1)]))
    ranks, latency = machines * each, st.sampled_from([0, 300 * NS, US, 2 * US])
    bandwidth = st.sampled_from([10**9, 2 * 10**9, 8 * 10**9])
    inner, outer = (draw(latency), draw(bandwidth)), (draw(latency), draw(bandwidth))
    pairs = [(rank, ranks + rank // each, *inner) for rank in range(ranks)]
    pairs += [(ranks + machine, ranks + machines, *outer) for machine in range(machines)]
    node = st.integers(0, ranks - 1)
    chords = draw(st.lists(st.tuples(node, node, latency, bandwidth), max_size=3))
    pairs += [chord for chord in chords if chord[0] != chord[1]]
    links = [link for src, dst, ps, rate in pairs for link in ((src, dst, ps, rate), (dst, src, ps, rate))]
    machine = [rank // each for rank in range(ranks)] if draw(st.booleans()) else None
    return Topology.from_links("far", ranks, links, num_switches=machines + 1, machine=machine)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_schedule_beats_the_bound_where_latency_counts_as_much_as_bytes(data: st.DataObject) -> None:
    topology = data.draw(far_apart())
    kind = data.draw(
        st.sampled_from([Kind.ALL_REDUCE, Kind.BROADCAST, Kind.REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
    )
    size, chunks = data.draw(st.integers(1, 12_000)), data.draw(st.sampled_from([1, 2, 5]))
    root = data.draw(st.integers(0, topology.num_ranks - 1))
    collective = Collective(kind, topology.num_ranks, size, chunks, root)
    schedule = retime(_on_roundabout_routes(data, data.draw(natives(collective, topology))))
    verify(schedule)
    assert bound_of_any_chunks(collective, topology).time_ps <= schedule.time_ps


def _on_roundabout_routes(data: st.DataObject, schedule: Schedule) -> Schedule:
    """Some routes lead over other ranks instead, and hold all of their links from the start on."""
    topology = schedule.topology
    ways = np.split(schedule.route_links, schedule.route_offset[1:-1])
    direct = {(int(topology.src[way[0]]), int(topology.dst[way[-1]])): way for way in ways}
    turned = []
    for (src, dst), way in zip(list(direct), ways, strict=True):
        over = data.draw(st.integers(0, topology.num_ranks - 1))
        there = np.concatenate([direct.get((src, over), way), direct.get((over, dst), way)])
        turned.append(there if (src, over) in direct and (over, dst) in direct and _once(there) else way)
    offset = np.concatenate([[0], np.cumsum([len(way) for way in turned])])
    return dataclasses.replace(schedule, route_offset=offset, route_links=np.concatenate(turned))


def _once(links: np.ndarray) -> bool:
    return len(np.unique(links)) == len(links)


def test_what_leaves_the_root_late_goes_straight_to_all() -> None:
    # 8 ranks on a switch, 1 us apart, 1 GB/s: 8000 B. Bytes that leave the root less than 2 us before the end do so
    # seven times; with T = 2 us + t, t / 1 + 1 us / 7 is 8 us.
    star = load("switch:8,bandwidth=1GB/s,latency=500ns")
    for kind in (Kind.BROADCAST, Kind.REDUCE):
        bound = bound_of_any_chunks(Collective(kind, 8, 8000), star)
        assert bound.time_ps == pytest.approx(10 * US - US / 7, abs=3)
        assert bound.reason.endswith("of rank 0 and latency outside")


@pytest.mark.parametrize(
    ("size", "time_us"),
    [
        (100, 1 + 7 * 0.1),  # in one latency everybody sends everybody all
        (800, 2 + (14 / 8 * 0.8 - 0.25) / 1.75),  # T = 2 us + x: 14 / 8 of 0.8 us are 2 x + (1 us - x) / 4
        (8000, 1 + 14),  # each position 14 times, over 8 links
    ],
)
def test_sums_take_many_transfers_or_many_latencies(size: int, time_us: float) -> None:
    star = load("switch:8,bandwidth=1GB/s,latency=500ns")
    bound = bound_of_any_chunks(Collective(Kind.ALL_REDUCE, 8, size), star)
    assert bound.time_ps == pytest.approx(time_us * US, abs=10)
    assert bound.reason == "traffic and latency between all ranks"


def test_sums_are_added_up_in_machines_before_they_cross_and_spread_after() -> None:
    # Eight nodes of eight: 14 times 1 MiB over eight times 400 GB/s, 1.5 us away, and seven eighths of 700 ns on both
    # ends.
    bound = bound_of_any_chunks(Collective(Kind.ALL_REDUCE, 64, 2**20), load("dgx-h100:nodes=8"))
    crossing = 14 / 8 * 2**20 / 400e9 * 1e12
    assert bound.time_ps == pytest.approx(1.5 * US + crossing + 2 * 7 / 8 * 0.7 * US, rel=1e-6)
    assert bound.reason == "traffic and latency between all nodes"


def test_ranks_below_a_switch_are_a_part_without_being_a_node() -> None:
    # 12 of 16 blocks come over a leaf's uplink of 50 GB/s, 2 us away, and go on to three others 1 us away.
    tree = load("fat_tree:4x4,bandwidth=50GB/s,latency=500ns")
    bound = bound_of_any_chunks(Collective(Kind.ALL_GATHER, 16, 2**16), tree)
    assert bound.time_ps == pytest.approx(12 * 4096 / 50e9 * 1e12 + 2 * US + 0.75 * US, abs=10)
    assert bound.reason == "ingress of the ranks nearest to rank 0 and latency inside"
