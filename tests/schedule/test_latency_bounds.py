"""Bounds in which latency and bandwidth add up: worked out by hand, and never above what a schedule takes."""

import dataclasses

import machines
import numpy as np
import pytest
from homes import BLOCKS
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, lower_bound, verify
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load

US = 10**6
FAST, SLOW = 100 * 10**9, 10**9


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_synthesized_schedule_beats_the_bound(data: st.DataObject) -> None:
    # The search looks for what is quick at sizes whose bytes take about as long as latencies.
    n = data.draw(st.integers(3, 6))
    topology = data.draw(machines.topologies(n))
    machine = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    topology = dataclasses.replace(topology, machine=np.array(machine, np.int32))
    kind = data.draw(st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]))
    size, chunks = data.draw(st.integers(0, 8000)), data.draw(st.sampled_from([1, 2, 3, 8]))
    collective = Collective(kind, n, size, chunks, data.draw(st.integers(0, n - 1)))
    if kind in BLOCKS and data.draw(st.booleans()):
        blocks = data.draw(st.lists(st.integers(0, 2000), min_size=n ** BLOCKS[kind], max_size=n ** BLOCKS[kind]))
        collective = Collective.uneven(kind, n, blocks, chunks, collective.root)
    schedule = synthesize(collective, topology, blocking=data.draw(st.booleans()), attempts=4)
    verify(schedule)
    assert lower_bound(collective, topology).time_ps <= schedule.time_ps


def test_bytes_come_after_the_latency_of_their_way() -> None:
    # A line of three: 8000 B at 1 GB/s, and two latencies before the first of them is there.
    line = Topology.from_links("line", 3, [(0, 1, US, SLOW), (1, 2, US, SLOW), (2, 1, US, SLOW), (1, 0, US, SLOW)])
    bound = lower_bound(Collective(Kind.BROADCAST, 3, 8000, 1000), line, split=True)
    assert (bound.time_ps, bound.reason) == (pytest.approx(10 * US, abs=3), "ingress of rank 2 after latency")
    # All bytes of rank 0 leave it in time for rank 2, and all sums come to it after rank 2's.
    bound = lower_bound(Collective(Kind.ALL_REDUCE, 3, 8000, 1000), line, split=True)
    assert bound.time_ps >= 10 * US - 3


def two_machines(copies: int) -> Topology:
    """Each rank of a machine has a link to its like in the other, of 1 GB/s and 3 us; inside all are joined in 1 us."""
    links = []
    for rank in range(2 * copies):
        links += [(rank, (rank + copies) % (2 * copies), 3 * US, SLOW)]
        links += [
            (rank, other, US, FAST)
            for other in range(2 * copies)
            if other != rank and other // copies == rank // copies
        ]
    return Topology.from_links("two", 2 * copies, links, machine=[rank // copies for rank in range(2 * copies)])


def test_what_enters_a_machine_once_goes_on_inside() -> None:
    # 16000 B over four links of 1 GB/s are 4 us after a latency of 3 us; what comes in last goes on inside, or came
    # four times: three quarters of a latency of 1 us.
    collective = Collective(Kind.ALL_GATHER, 8, 32000, 1000)
    bound = lower_bound(collective, two_machines(4), split=True)
    assert (bound.time_ps, bound.reason) == (pytest.approx(7.75 * US, abs=3), "ingress of node 0 and latency inside")
    bound = lower_bound(dataclasses.replace(collective, kind=Kind.REDUCE_SCATTER), two_machines(4), split=True)
    assert (bound.time_ps, bound.reason) == (pytest.approx(7.75 * US, abs=3), "egress of node 0 and latency inside")


def test_sums_are_added_up_inside_before_and_spread_after() -> None:
    # All 16000 B go over, and both machines cost a latency inside, or four times the bytes.
    bound = lower_bound(Collective(Kind.ALL_REDUCE, 8, 16000, 1000), two_machines(4), split=True)
    assert (bound.time_ps, bound.reason) == (pytest.approx(8.5 * US, abs=3), "ingress of node 0 and latency inside")


def test_links_faster_than_others_make_parts_of_their_own() -> None:
    box = load("mi250")
    bound = lower_bound(Collective(Kind.ALL_GATHER, 16, 2**20), box, split=True)
    assert bound.reason == "ingress of the ranks that links of 200 GB/s join to rank 0 and latency inside"


def test_blocks_cross_between_nodes_after_the_latency_of_their_whole_way() -> None:
    # 64 blocks of 4 KiB for GPUs of node 0 come over its eight NICs of 50 GB/s in 655 ns, 1.5 us from the nearest GPU.
    bound = lower_bound(Collective(Kind.ALL_TO_ALL, 16, 2**16), load("dgx-h100:nodes=2"))
    assert (bound.time_ps, bound.reason) == (pytest.approx(2_155_360, abs=3), "ingress of node 0 after latency")
