"""Lower bounds: closed forms worked out by hand, and never above what a verified schedule takes."""

import dataclasses

import machines
import numpy as np
import pytest
from homes import collectives, natives
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import Infeasible, ScheduleError, TopologyError
from hocket.schedule import Collective, Kind, lower_bound, retime, verify
from hocket.schedule.algorithms import build
from hocket.simulator import Fidelity, simulate_collective, simulate_schedule
from hocket.synthesizer import synthesize
from hocket.topology import Dimension, Topology, load

GIB = 2**30
US = 10**6


@settings(max_examples=150)
@given(st.data())
def test_no_verified_schedule_beats_the_bound(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    topology = data.draw(machines.topologies(n))
    machine = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    # Dimensions need not be what the links suggest: the argument is about any partition of the ranks.
    sizes = data.draw(st.sampled_from({4: [(2, 2)], 6: [(2, 3), (3, 2)]}.get(n, [(n,)])))
    planes = tuple(Dimension("mesh", size, 0, 1) for size in sizes)
    topology = dataclasses.replace(topology, machine=np.array(machine, np.int32), dimensions=planes)
    kind = data.draw(st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]))
    members = data.draw(st.permutations(range(n)))[: data.draw(st.sampled_from([2, 4] if n >= 4 else [2]))]
    group = np.array(members, np.int32)
    collective = data.draw(collectives(kind, len(group), most_bytes=10_000))
    blocking = data.draw(st.booleans())
    bound = lower_bound(collective, topology, blocking, group)
    schedule = retime(data.draw(natives(collective, topology, group)), blocking)
    verify(dataclasses.replace(schedule, bound=bound))
    assert bound.time_ps <= schedule.time_ps
    assert schedule.busiest_link_ps <= schedule.time_ps


def test_empty_chunks_on_blocking_links_of_which_some_have_no_latency() -> None:
    # Two hops, of which the second takes 7 ps: an empty chunk needs no more than the latency.
    line = Topology.from_links("line", 3, [(0, 1, 0, 10**9), (1, 2, 7, 10**9), (2, 0, 0, 10**9)])
    assert lower_bound(Collective(Kind.BROADCAST, 3, 0), line, blocking=True).time_ps <= 8


def test_busiest_link_of_a_ring() -> None:
    # Each of 4 links carries 2 (n-1) chunks of 1000 B: at the ring's bandwidth.
    ring = machines.ring(4)
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 4000), ring)
    expected = 6 * 1000 * 10**12 / int(ring.bandwidth[0])
    assert expected - 2 <= schedule.busiest_link_ps <= expected  # rounded down


@pytest.mark.parametrize(
    ("rows", "columns", "latency_us", "bandwidth", "size", "chunks_per_rank", "time_us"),
    [
        # A corner has 2 in-links for the 24 chunks of the others: 12 slots of 0.5 us + (1 GiB / 25) / 50 GiB/s.
        (5, 5, 0.5, 50, GIB, 1, 12 * (0.5 + 800)),
        # 99 * 2 chunks on 2 links: 99 slots of 1 us + (1 GiB / 200) / 100 GiB/s.
        (10, 10, 1, 100, GIB, 2, 99 * (1 + 50)),
        # 83 * 3 = 249 chunks: 125 slots of 1 us + (4 GiB / 252) / 100 GiB/s.
        (7, 12, 1, 100, 4 * GIB, 3, 125 * (1 + 4e6 / 252 / 100)),
    ],
)
def test_all_gather_on_meshes_as_tacos_counts(
    rows: int, columns: int, latency_us: float, bandwidth: int, size: int, chunks_per_rank: int, time_us: float
) -> None:
    mesh = machines.mesh(rows, columns)
    mesh = dataclasses.replace(
        mesh,
        latency_ps=np.full_like(mesh.latency_ps, int(latency_us * US)),
        bandwidth=np.full_like(mesh.bandwidth, bandwidth * GIB),
    )
    collective = Collective(Kind.ALL_GATHER, rows * columns, size, chunks_per_rank)
    bound = lower_bound(collective, mesh, blocking=True)
    assert bound.time_ps / US == pytest.approx(time_us, rel=1e-6)
    assert bound.reason == "ingress of rank 0"


def test_ring_all_reduce_is_optimal_on_a_one_way_ring() -> None:
    # 2 (n-1) deliveries of each of n chunks on n links: 2 (n-1) slots on each.
    collective = Collective(Kind.ALL_REDUCE, 8, 8 * 2**20)
    ring = machines.ring(8)
    bound = lower_bound(collective, ring, blocking=True)
    assert bound.time_ps == retime(build("ring", collective, ring), blocking=True).time_ps
    assert bound.reason == "traffic through the ingress of all ranks"


def test_small_messages_are_bound_by_latency() -> None:
    # Corner to corner of a 3x3 mesh: 4 hops, each of which serializes the byte: ceil(1e12 / 50e9) = 20 ps.
    bound = lower_bound(Collective(Kind.BROADCAST, 9, 1), machines.mesh(3, 3))
    assert bound.time_ps == 4 * (machines.LATENCY_PS + 20)
    assert bound.reason == "latency to the farthest rank"


def test_cut_and_machines_see_what_single_ranks_do_not() -> None:
    # Two pairs; 100 GB/s inside a pair, one link of 1 GB/s each way between the pairs.
    fast, slow = 100 * 10**9, 10**9
    pairs = [(0, 1, 0, fast), (1, 0, 0, fast), (2, 3, 0, fast), (3, 2, 0, fast), (1, 2, 0, slow), (2, 1, 0, slow)]
    topology = Topology.from_links("pairs", 4, pairs, machine=[0, 0, 1, 1])
    # all_gather of 4000 B: 2 blocks of 1000 B cross at 1 GB/s. all_reduce: all 4000 B cross each way.
    gather = lower_bound(Collective(Kind.ALL_GATHER, 4, 4000), topology)
    assert (gather.time_ps, gather.reason) == (2000 * 1000, "ingress of node 0")
    alone = dataclasses.replace(topology, machine=np.zeros(4, np.int32))
    gather = lower_bound(Collective(Kind.ALL_GATHER, 4, 4000), alone)
    assert (gather.time_ps, gather.reason) == (2000 * 1000, "cut between ranks 2-3 and the others")
    reduce = lower_bound(Collective(Kind.ALL_REDUCE, 4, 4000), topology)
    assert (reduce.time_ps, reduce.reason) == (4000 * 1000, "ingress of node 0")


def test_a_slow_dimension_bounds_the_planes_it_joins() -> None:
    # 4 rows of 4 ranks; links of 100 GB/s in a row, of 1 GB/s between rows. As 4 ranks, the rows need 2*3 deliveries of
    # all 16000 B, through 4 * 4 * 2 links of 1 GB/s: 96000 B / 32 GB/s = 3 us.
    torus = load("ring:4xring:4,bandwidth=100GB/s+1GB/s,latency=0ns")
    bound = lower_bound(Collective(Kind.ALL_REDUCE, 16, 16000), torus)
    assert (bound.time_ps, bound.reason) == (3 * US, "traffic through the ingress of all planes of dimension 1")
    # all_gather: 12 blocks of 1000 B enter a row through 8 slow links.
    bound = lower_bound(Collective(Kind.ALL_GATHER, 16, 16000, chunks_per_rank=4), torus)
    assert (bound.time_ps, bound.reason) == (12000 * 1000 // 8, "ingress of plane 0 of dimension 1")


def test_reduce_scatter_is_bound_by_egress() -> None:
    # Rank 1 can only send at a tenth of what it receives: 3 of 4 blocks of 250 B leave it at 0.1 GB/s.
    star = [(0, 4, 0, 10**9), (1, 4, 0, 10**8), (2, 4, 0, 10**9), (3, 4, 0, 10**9)]
    star += [(4, rank, 0, 10**9) for rank in range(4)]
    topology = Topology.from_links("star", 4, star, num_switches=1)
    bound = lower_bound(Collective(Kind.REDUCE_SCATTER, 4, 1000), topology)
    assert (bound.time_ps, bound.reason) == (750 * 10_000, "egress of rank 1")


def test_links_that_are_shared_round_up_once() -> None:
    # 4 blocks of 200 B leave a rank at 7 GB/s: 4 x ceil(28,571.4) ps one after the other, ceil(114,285.7) ps together.
    collective, star = Collective(Kind.REDUCE_SCATTER, 5, 1000), load("switch:5,bandwidth=7GB/s,latency=0ns")
    assert lower_bound(collective, star).time_ps == 4 * 28_572
    assert lower_bound(collective, star, shared=True).time_ps == 114_286
    flow = simulate_collective(collective, star, "bruck", fidelity=Fidelity("flow"))
    assert (flow.bound_ps, flow.below_bound) == (114_286, False)


def test_a_rank_that_nothing_reaches_can_have_all_there_is_to_gather() -> None:
    one_way = Topology.from_links("one way", 2, [(0, 1, 5, 1)])
    collective = Collective.uneven(Kind.ALL_GATHER, 2, [8, 0])
    assert lower_bound(collective, one_way).time_ps == 8 * 10**12 + 5


def test_trivial_and_impossible() -> None:
    assert lower_bound(Collective(Kind.ALL_REDUCE, 1, 100), machines.ring(2)).time_ps == 0
    with pytest.raises(Infeasible, match="cannot reach"):
        lower_bound(Collective(Kind.ALL_REDUCE, 2, 100), Topology.from_links("one-way", 2, [(0, 1, 0, 1)]))


def test_nothing_over_links_without_latency_takes_no_time() -> None:
    pair = Topology.from_links("pair", 2, [(0, 1, 0, 1), (1, 0, 0, 1)])
    assert lower_bound(Collective(Kind.GATHER, 2, 0), pair).time_ps == 0


def test_a_root_that_nothing_reaches_can_broadcast() -> None:
    # 8 bytes over 1 byte/s: 8 s, and nothing has to enter rank 0.
    one_way = Topology.from_links("one way", 2, [(0, 1, 5, 1)])
    assert lower_bound(Collective(Kind.BROADCAST, 2, 8), one_way).time_ps == 8 * 10**12 + 5


def test_what_leaves_64_bits_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"link 1 \(1 -> 0\): the bandwidths of all links together"):
        Topology.from_links("fast", 2, [(0, 1, 0, 2**62), (1, 0, 0, 2**62)])
    for blocks in ([2**55, 0], [2**54, 2**54]):
        with pytest.raises(ScheduleError, match="size_bytes must be below 2\\^55"):
            Collective.uneven(Kind.ALL_GATHER, 2, blocks)


@pytest.mark.parametrize("size", [2**32, 2**40, 2**54])
def test_what_takes_months_is_refused(size: int) -> None:
    # A chunk of 2^31 bytes or more over 1 byte/s takes over 2^30 s; the engine's times end at 2^61 ps = 2.3e6 s.
    ring = Topology.from_links("ring", 2, [(0, 1, 0, 1), (1, 0, 0, 1)])
    collective = Collective(Kind.ALL_REDUCE, 2, size)
    schedule = build("ring", collective, ring)
    for attempt in (
        lambda: lower_bound(collective, ring),
        lambda: retime(schedule),
        lambda: synthesize(collective, ring),
        lambda: simulate_schedule(schedule),
        lambda: simulate_schedule(schedule, fidelity=Fidelity("analytical")),
        lambda: simulate_schedule(schedule, fidelity=Fidelity("uncontended")),
    ):
        with pytest.raises(Infeasible, match="26 days"):
            attempt()


def test_months_made_of_days_are_refused() -> None:
    # 2^20 bytes over 1 byte/s are 2^20 s, within the horizon of 2^61 ps = 2.2 * 2^20 s; 3 of them in turn are not.
    one_way = Topology.from_links("one way", 2, [(0, 1, 0, 1)])
    collective = Collective(Kind.BROADCAST, 2, 3 * 2**20, 3)
    schedule = build("ring", collective, one_way)
    for attempt in (
        lambda: lower_bound(collective, one_way),
        lambda: retime(schedule),
        lambda: synthesize(collective, one_way, engine="matching"),
        lambda: synthesize(collective, one_way, engine="rounds"),
    ):
        with pytest.raises(Infeasible, match="26 days"):
            attempt()


@settings(max_examples=60)
@given(st.data())
def test_an_even_all_to_all_is_bounded_as_one_of_listed_blocks(data: st.DataObject) -> None:
    """The even one is counted by formulas, the other block by block."""
    n, chunks = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    block = chunks * data.draw(st.integers(1, 10_000))
    topology = data.draw(machines.topologies(n))
    topology = dataclasses.replace(topology, dimensions=(Dimension("mesh", n, 0, 1),))
    even = Collective(Kind.ALL_TO_ALL, n, n * block, chunks)
    listed = Collective.uneven(Kind.ALL_TO_ALL, n, [block] * n**2, chunks)
    for blocking in (False, True):
        assert lower_bound(even, topology, blocking) == lower_bound(listed, topology, blocking)


def test_halves_in_slots() -> None:
    # A ring of 5: 2 x 3 chunks cross the middle each way over 2 links.
    ring = load("ring:5,bandwidth=50GiB/s,latency=500ns")
    bound = lower_bound(Collective(Kind.ALL_TO_ALL, 5, 5 * GIB), ring, blocking=True)
    assert bound.time_ps == 3 * (500_000 + 10**12 // 50)
