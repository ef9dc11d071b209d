"""The engine `routing`: chunks that go from one rank to another, on any network."""

import csv
from pathlib import Path

import homes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import Infeasible, ScheduleError
from hocket.schedule import Collective, Kind, Schedule, lower_bound, verify
from hocket.synthesizer import synthesize
from hocket.synthesizer.engines import ENGINES
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Topology, load

RFS_LINKS = "bandwidth=200/100/50GiB/s,latency=500ns"
DRAGONFLY_LINKS = "bandwidth=400/200GiB/s,latency=500ns"
GIB = 2**30
LINK = "bandwidth=50GiB/s,latency=500ns"
KINDS = [Kind.ALL_TO_ALL, Kind.GATHER, Kind.SCATTER]


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """A circle through all ranks and switches, and any links besides."""
    ranks, switches = draw(st.integers(2, 7)), draw(st.integers(0, 2))
    node = st.integers(0, ranks + switches - 1)
    order = draw(st.permutations(range(ranks + switches)))
    pairs = [(order[at - 1], order[at]) for at in range(len(order))] + draw(st.lists(st.tuples(node, node), max_size=9))
    latency, bandwidth = st.integers(0, 2_000_000), st.sampled_from([10**9, 25 * 10**9, 400 * 10**9])
    links = [(a, b, draw(latency), draw(bandwidth)) for a, b in pairs if a != b]
    return Topology.from_links("drawn", ranks, links, num_switches=switches)


@settings(max_examples=150)
@given(data=st.data(), kind=st.sampled_from(KINDS), blocking=st.booleans(), seed=st.integers(0, 2**63 - 1))
def test_any_connected_network(data: st.DataObject, kind: Kind, blocking: bool, seed: int) -> None:
    topology = data.draw(networks())
    collective = data.draw(homes.collectives(kind, topology.num_ranks, most_bytes=10**6))
    schedule = synthesize(collective, topology, engine="routing", blocking=blocking, seed=seed)
    assert verify(schedule).time_ps == schedule.time_ps
    again = synthesize(collective, topology, engine="routing", blocking=blocking, seed=seed)
    assert [again.chunk.tolist(), again.start_ps.tolist()] == [schedule.chunk.tolist(), schedule.start_ps.tolist()]


def test_a_group_relays_through_its_own_ranks_only() -> None:
    # Ranks 0, 1, 2 of a ring of 6: from 0 to 2 the chunks go over 1, not over 3, 4, 5, and back the same way.
    topology = load(f"ring:6,{LINK}")
    group = np.array([0, 1, 2], np.int32)
    schedule = synthesize(Collective(Kind.ALL_TO_ALL, 3, 3000), topology, engine="routing", group=group)
    assert schedule.num_transfers == 4 + 2 * 2
    apart = np.array([0, 2], np.int32)
    with pytest.raises(Infeasible, match="no link joins rank"):
        synthesize(Collective(Kind.ALL_TO_ALL, 2, 3000), topology, engine="routing", group=apart)


def test_says_what_it_cannot_do() -> None:
    with pytest.raises(ScheduleError, match="all_gather"):
        synthesize(Collective(Kind.ALL_GATHER, 4, 4000), load(f"ring:4,{LINK}"), engine="routing")


# In the peers' data: the network by our name, and how far from the optimum of the linear program is good enough.
CASES = {
    "mesh:4x4": (f"mesh:4x4,{LINK}", 1.0),
    "dragonfly:4x5:bw=400,200": (f"dragonfly:4x5,{DRAGONFLY_LINKS}", 1.0),
    "dragonfly:7x8:bw=400,200": (f"dragonfly:7x8,{DRAGONFLY_LINKS}", 1.0),
    "mesh:8x8": (f"mesh:8x8,{LINK}", 1.0),
    "rfs:2x4x8:bw=200,100,50": (f"ring:2xfully_connected:4xunwound_switch:8,{RFS_LINKS}", 1.0),
    "torus:8x8": (f"torus:8x8,{LINK}", 1.02),
}


@pytest.mark.shared
@pytest.mark.parametrize("peer", CASES)
def test_reaches_the_optimum_of_the_linear_program(shared: Path, peer: str) -> None:
    with open(shared / "tacos" / "a2a_lp.csv", newline="") as file:
        optimum_us = {row["spec"]: float(row["a2a_lp_opt_us"]) for row in csv.DictReader(file)}[peer]
    name, factor = CASES[peer]
    topology = load(name)
    collective = Collective(Kind.ALL_TO_ALL, topology.num_ranks, GIB)
    time_us = synthesize(collective, topology, engine="routing", blocking=True).time_ps / 1e6
    assert optimum_us * (1 - 1e-5) <= time_us <= optimum_us * factor * (1 + 1e-5)


def test_uneven_blocks_load_what_they_weigh() -> None:
    # Only rank 0 has something for rank 3 of a ring of 4, in 6 chunks of 1000 B: 3 each way around.
    blocks = [0] * 16
    blocks[3] = 6000
    topology = load("ring:4,bandwidth=1GB/s,latency=0ns")
    collective = Collective.uneven(Kind.ALL_TO_ALL, 4, blocks, chunks_per_rank=6)
    schedule = synthesize(collective, topology, engine="routing")
    # The long way has two more hops than the short one; no link carries more than three chunks.
    assert schedule.busiest_link_ps == pytest.approx(3 * 1000 * 1000)
    assert schedule.time_ps <= (3 + 2) * 1000 * 1000
    assert lower_bound(collective, topology).time_ps <= schedule.time_ps


def first_found(topology: Topology, collective: Collective) -> Schedule:
    return next(ENGINES["routing"].solve(Problem(collective, topology, blocking=True), Search()))


@settings(max_examples=60)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_rounds_through_any_switches(data: st.DataObject, kind: Kind) -> None:
    """Ranks on switches that are joined in a circle and at random: whatever the ways, the rounds are a schedule."""
    switches, ranks = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 7))
    switch = st.integers(ranks, ranks + switches - 1)
    pairs = [(rank, data.draw(switch)) for rank in range(ranks)] + data.draw(st.lists(st.tuples(switch, switch)))
    pairs += [(ranks + at, ranks + (at + 1) % switches) for at in range(switches)]
    links = [(*ends, 500, 10**9) for a, b in pairs if a != b for ends in ((a, b), (b, a))]
    topology = Topology.from_links("drawn", ranks, links, num_switches=switches)
    first = first_found(topology, data.draw(homes.collectives(kind, ranks, most_bytes=10**6)))
    assert verify(first).time_ps == first.time_ps


@pytest.mark.parametrize(("ranks", "leaves", "spines"), [(2, 2, 2), (3, 4, 3), (4, 5, 4), (8, 4, 8), (16, 32, 16)])
def test_full_bisection_keeps_every_port_busy(ranks: int, leaves: int, spines: int) -> None:
    # In each round every rank sends one chunk and receives one. Of those to its own leaf, of two links, there are
    # ranks - 1; all others take four links. Each link adds 0.5 us to the 1000 us of 50 MB at 50 GB/s.
    topology = load(f"fat_tree:{ranks}x{leaves},spines={spines},bandwidth=50GB/s,latency=500ns")
    chunks = ranks * leaves
    first = first_found(topology, Collective(Kind.ALL_TO_ALL, chunks, chunks * 50 * 10**6))
    assert first.time_ps == ((ranks - 1) * 1001 + ranks * (leaves - 1) * 1002) * 10**6


@pytest.mark.parametrize(("ranks", "leaves", "spines"), [(4, 3, 2), (8, 4, 2), (8, 64, 4), (6, 5, 2)])
def test_oversubscribed_uplinks_never_rest(ranks: int, leaves: int, spines: int) -> None:
    # The chunks of a leaf for others share its uplinks evenly, and its inner traffic fits beside them.
    topology = load(f"fat_tree:{ranks}x{leaves},spines={spines},bandwidth=50GB/s,latency=500ns")
    chunks = ranks * leaves
    first = first_found(topology, Collective(Kind.ALL_TO_ALL, chunks, chunks * 50 * 10**6))
    assert first.time_ps == ranks * ranks * (leaves - 1) // spines * 1002 * 10**6
