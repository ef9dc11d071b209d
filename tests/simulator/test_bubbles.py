"""Bubble flow control: rings of buffers that never fill up, on one virtual channel."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packet_networks import GB, NS, US, Send, run

from hocket.base.errors import DeadlockError, SimulationError
from hocket.simulator import Fidelity, Packets, parse_packets
from hocket.simulator.analysis import prediction_json
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficPoint, TrafficSetup
from hocket.topology import Topology, load

BUBBLE = "mtu=1024,header=26,flow=bubble,buffer=2100"


def torus_of_switches(*sizes: int) -> Topology:
    """A switch with a rank at each place of a torus: unlike ranks, switches have buffers that fill up. The lowest link
    of a shortest route is in the lowest dimension: `shortest` is dimension order."""
    places = [*product(*map(range, sizes))]
    number = {place: len(places) + at for at, place in enumerate(places)}
    links = [(at, len(places) + at) for at in range(len(places))]
    links += [(switch, rank) for rank, switch in links]
    links += [
        (number[place], number[(*place[:dimension], (place[dimension] + step) % size, *place[dimension + 1 :])])
        for dimension, size in enumerate(sizes)
        for place in places
        for step in ((1, -1) if size > 2 else (1,))
    ]
    columns = [(src, dst, 100 * NS, 50 * GB) for src, dst in links]
    return Topology.from_links(f"torus of switches {sizes}", len(places), columns, num_switches=len(places))


def saturated(topology: Topology, pattern: str, packets: str, routing: str, seed: int = 0) -> TrafficPoint:
    """Every rank has eight messages under way, until all have arrived."""
    setup = TrafficSetup(pattern, 3000, duration_ps=8 * US, from_ps=4 * US, seed=seed, drains=True)
    fidelity = Fidelity("packet", routing=routing, packets=parse_packets(packets))
    return OfferedTraffic(topology, setup, fidelity).with_window(8)


TORI = [(4,), (5,), (8,), (3, 3), (4, 4), (2, 3, 4)]


@settings(max_examples=30)
@given(
    st.sampled_from(TORI),
    st.sampled_from(["uniform", "permutation", "incast"]),
    st.sampled_from(["round_robin", "age", "fifo"]),
    st.sampled_from(["bubble", "credits", "pfc"]),
    st.integers(0, 2**32),
)
def test_tori_of_switches_do_not_deadlock_under_saturation(
    sizes: tuple[int, ...], pattern: str, arbitration: str, flow: str, seed: int
) -> None:
    topology = torus_of_switches(*sizes)
    packets = f"mtu=1024,header=26,buffer=2100,flow={flow},arbitration={arbitration}"
    found = saturated(topology, pattern, packets, "shortest", seed)
    assert found.made == found.arrived > 0
    assert found.dropped == 0
    assert (found.packets.channels == 1) or flow != "bubble"


def test_without_the_bubble_a_torus_of_switches_does_deadlock() -> None:
    """The same, with the same room and no rings: what the bubble keeps from happening does happen."""
    topology = torus_of_switches(8)
    setup = TrafficSetup("uniform", 3000, duration_ps=8 * US, from_ps=4 * US, drains=True)
    packets = parse_packets(BUBBLE)
    traffic = OfferedTraffic(topology, setup, Fidelity("packet", routing="shortest", packets=packets))
    assert traffic.with_window(8).arrived == traffic.with_window(8).made
    traffic._packets = packets.settings(1, topology)
    stuck = traffic.with_window(8)
    assert stuck.arrived < stuck.made


def circle_of_switches(switches: int, size: int = 100_000) -> tuple[Topology, list[Send]]:
    topology = torus_of_switches(switches)
    return topology, [(at, (at + switches // 2) % switches, size) for at in range(switches) for _ in range(3)]


def test_who_enters_a_ring_leaves_room_for_a_packet() -> None:
    # Buffers of three packets of 1,000 bytes: no more than two of what enters are there, the third is the ring's.
    topology, sends = circle_of_switches(8)
    found = run(topology, sends, Packets(1000, 0, buffer=3000, flow="bubble"), routing="shortest")
    assert (found.node_finish_ps >= 0).all()
    assert found.packets is not None and found.packets.channels == 1
    again = run(topology, sends, Packets(1000, 0, buffer=3000, flow="bubble"), routing="shortest")
    assert prediction_json(again) == prediction_json(found)


SHIPPED = [
    *("fat_tree:4x4,spines=2", "dragonfly:2x4", "switch:8", "torus:3x3", "hypercube:3", "mesh:3x3"),
    *("dgx-h100:nodes=2", "rlft:4,levels=3", "trn2:nodes=2"),
]


@pytest.mark.parametrize("spec", SHIPPED)
@pytest.mark.parametrize("routing", ["shortest", "ecmp", "spray", "d_mod_k", "adaptive"])
def test_where_there_is_no_ring_it_is_credits(spec: str, routing: str) -> None:
    """Ranks store what they pass on, so that no shipped topology has rings of buffers, whatever the routing."""
    topology = load(spec if ":nodes" in spec else f"{spec},bandwidth=50GB/s,latency=500ns")
    bubble = saturated(topology, "uniform", BUBBLE, routing)
    credits = saturated(topology, "uniform", BUBBLE.replace("bubble", "credits"), routing)
    assert bubble.made == bubble.arrived == credits.arrived
    assert (bubble.mean_ps, bubble.throughput) == (credits.mean_ps, credits.throughput)
    assert (bubble.link_bytes == credits.link_bytes).all()


def test_what_is_no_ring_is_refused_by_name() -> None:
    topology = torus_of_switches(4, 4)
    with pytest.raises(DeadlockError, match=r"ecmp:seed=3 on torus of switches .*more than one ring.*flow=credits"):
        saturated(topology, "uniform", BUBBLE, "ecmp:seed=3")


def test_what_a_bubble_cannot_have() -> None:
    topology, sends = circle_of_switches(4)
    with pytest.raises(SimulationError, match=r"flow=bubble: buffer=2000 holds no two packets of 1050 bytes"):
        run(topology, sends, parse_packets("mtu=1024,header=26,flow=bubble,buffer=2000"), routing="shortest")
    with pytest.raises(SimulationError, match="flow=bubble takes one virtual channel"):
        parse_packets("flow=bubble,channels=2")


def test_small_packets_take_a_place_as_large_ones_do() -> None:
    # Odd sizes leave room for less than a packet in many buffers; places do not break up.
    topology = torus_of_switches(5)
    random = np.random.default_rng(1)
    sends = [(src, int((src + 1 + random.integers(4)) % 5), int(random.integers(1, 3000))) for src in [*range(5)] * 40]
    found = run(topology, sends, Packets(1000, 0, buffer=2500, flow="bubble"), routing="shortest")
    assert (found.node_finish_ps >= 0).all()
