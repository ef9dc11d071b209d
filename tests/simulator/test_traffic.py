"""Synthetic traffic over the packet model: what is made arrives once, and closed forms of what is carried and how
late."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packet_networks import NS, US, run

from hocket.base.errors import SimulationError
from hocket.simulator import Fidelity, Packets, parse_packets
from hocket.simulator.offered_traffic import STAGES, OfferedTraffic, TrafficPoint, TrafficSetup
from hocket.simulator.traffic_nodes import is_far_link, node_of_ranks
from hocket.simulator.traffic_patterns import traffic_pairs
from hocket.simulator.traffic_sweep import parse_loads, sweep_traffic
from hocket.topology import Topology, load

NODES = "node:accelerators=4,link=512Gbit/s,nodes=4,fabric=fat_tree,leaf=2,spines=2"
CONVERTED = "header=64,flow=credits,buffer=32KiB,intra.mtu=128,intra.header=20,intra.split=8.26ns"


def offered(
    spec: str | Topology, pattern: str, packets: str | None = None, routing: str | None = None, **setup: object
) -> OfferedTraffic:
    fidelity = Fidelity("packet", routing=routing, packets=None if packets is None else parse_packets(packets))
    topology = load(spec) if isinstance(spec, str) else spec
    return OfferedTraffic(topology, TrafficSetup(pattern, **setup), fidelity)  # type: ignore[arg-type]


SHIPPED = [
    "fat_tree:4x4,spines=2,bandwidth=50GB/s,latency=500ns",
    "dragonfly:2x4,bandwidth=50GB/s,latency=500ns",
    "torus:3x3,bandwidth=50GB/s,latency=500ns",
    "torus:4x2x2,bandwidth=50GB/s,latency=500ns",
    "mesh:3x3,bandwidth=50GB/s,latency=500ns",
    "hypercube:3,bandwidth=50GB/s,latency=500ns",
    "switch:8,bandwidth=50GB/s,latency=500ns",
    "dgx-h100:nodes=2,gpus=4",
    "dgx-h100:nodes=4,gpus=2,fabric=fat_tree,leaf=2,spines=2",
    "tpu-v5p:shape=2x2x2",
    NODES,
]


@settings(max_examples=40)
@given(
    st.sampled_from(SHIPPED),
    st.sampled_from(["uniform", "permutation", "incast"]),
    st.sampled_from(["shortest", "parallel", "ecmp", "spray", "d_mod_k", "adaptive"]),
    st.sampled_from(["pfc", "credits", "none"]),
    st.integers(0, 2**32),
)
def test_under_saturation_nothing_deadlocks_and_all_arrives_once(
    spec: str, pattern: str, routing: str, flow: str, seed: int
) -> None:
    # Buffers of two packets, every rank with eight messages under way, until all have arrived.
    packets = f"mtu=1024,header=26,buffer=2100,flow={flow},retransmit=20us"
    asked = {"message_bytes": 3000, "duration_ps": 8 * US, "from_ps": 4 * US, "seed": seed, "drains": True}
    traffic = offered(spec, pattern, packets, routing, **asked)
    found = traffic.with_window(8)
    assert found.made == found.arrived > 0
    topology, counted = traffic.topology, found.near.total + found.far.total
    assert counted == found.arrived_from.sum() <= found.arrived
    again = traffic.with_window(8)
    assert said(again) == said(found)
    if flow != "none":
        assert found.packets.sent_again_bytes == found.dropped == 0
        # Links into ranks carry no more than links out of them, and nothing stays in between.
        into_ranks = topology.dst < topology.num_ranks
        out_of_ranks = topology.src < topology.num_ranks
        assert found.link_bytes[into_ranks].sum() == found.link_bytes[out_of_ranks].sum()
    if flow != "none" and not (into_ranks & out_of_ranks).any():
        assert found.link_bytes[into_ranks].sum() == 3000 * found.made


def said(point: TrafficPoint) -> str:
    with np.printoptions(threshold=np.inf):
        return repr([getattr(point, field.name) for field in dataclasses.fields(point) if field.name != "packets"])


def test_what_leaves_a_node_is_what_its_nic_converts() -> None:
    # C1 fills NICs that make 128 bytes of payload in 8.26 ns, 143.4 Gbit/s with their headers, at 35 % of what four
    # accelerators of 512 Gbit/s send; the messages in their nodes wait behind.
    setup = {"duration_ps": 200 * US, "from_ps": 100 * US}
    traffic = offered(NODES, "C1", CONVERTED, "d_mod_k", **setup)
    nic = 128 * 8 / 8.26 * (4096 + 32 * 20) / 4096
    expected = nic / (0.2 * 4 * 512)
    below, above = traffic.at_load(0.25), traffic.at_load(1.0)
    assert below.throughput == pytest.approx(0.25, rel=0.04)
    assert above.throughput == pytest.approx(expected, rel=0.04)
    assert above.far_bandwidth == pytest.approx(0.25 * above.near_bandwidth, rel=0.06)
    # Backpressure: from the NIC that is full back to the accelerators.
    assert all(full.mean_ps > 3 * free.mean_ps for full, free in zip(above.parts[:5], below.parts[:5], strict=True))


def test_the_parts_of_a_message_add_up_to_its_latency() -> None:
    traffic = offered(NODES, "inter:50%", CONVERTED, duration_ps=20 * US, from_ps=0)
    for found in (traffic.at_load(0.05), traffic.at_load(0.9)):
        assert found.far.total > 20
        assert sum(part.mean_ps for part in found.parts) == pytest.approx(found.far.mean_ps, rel=1e-12)
        assert all(part.total == found.far.total for part in found.parts)


def test_the_parts_of_a_message_alone_by_hand() -> None:
    # From node 0 to another leaf: links of 64 GB/s and 100 ns inside, of 50 GB/s and 150 ns between.
    traffic = offered(NODES, "incast:1", CONVERTED, duration_ps=100 * US, from_ps=0, drains=True, seed=1)
    found = traffic.with_window(1)
    sender = int(traffic.pairs.src[0])
    hops = 2 if sender // 4 == 1 else 4
    inside, between, split = (4096 + 32 * 20) / 64, (4096 + 64) / 50, 32 * 8.26
    by_hand = [
        0,
        200,  # the first byte is at the NIC
        inside,  # which waits for the last one
        150 * hops + between,
        0,
        200 + split - inside,  # what moves as one leaves the switch so late that it does not run dry
        inside,
    ]
    assert [part.mean_ps / NS for part in found.parts] == pytest.approx(by_hand, abs=0.01)
    alone = run(traffic.topology, [(sender, 0, 4096)], parse_packets(CONVERTED))
    assert found.far.mean_ps == alone.time_ps == found.far.most_ps
    # A closed loop of one message sends the next when the one before is there.
    assert found.far_bandwidth == pytest.approx(4096 * 10**12 / alone.time_ps, rel=0.02)


def test_ranks_in_between_are_no_ends() -> None:
    # Ranks of a torus pass messages on; each is a node, so that all the way is between nodes.
    traffic = offered("torus:8,bandwidth=50GB/s,latency=500ns", "permutation", duration_ps=200 * US, from_ps=0)
    parts = [part.mean_ps for part in traffic.at_load(0.05).parts]
    assert parts[1] == parts[2] == parts[4] == parts[5] == parts[6] == 0
    assert parts[3] / NS > 500 + (4096 + 82) / 50


def test_late_packets_of_a_message_that_is_there_belong_to_no_other() -> None:
    # Each packet is sent again every microsecond, until it is there after 20: the last ones pass the switch later.
    spec, packets = "switch:2,bandwidth=50GB/s,latency=10us", "header=0,flow=none,retransmit=1us"
    traffic = offered(spec, "permutation", packets, message_bytes=4096, duration_ps=4_000 * US, from_ps=0)
    found = traffic.at_load(0.001)
    assert found.packets.sent_again_bytes > 0
    assert found.far.total > 5
    assert found.parts[-1].mean_ps == 0


def test_idle_ranks_cost_no_events() -> None:
    traffic = offered("fat_tree:4x2,spines=2,bandwidth=50GB/s,latency=500ns", "permutation", duration_ps=2_000 * US)
    found = traffic.at_load(0.02)
    # An event when a message is ready, and at most one to come and one to go on for each packet on a link.
    assert found.events <= found.made + 8 + 2 * found.packet_hops


@pytest.mark.parametrize("spec", ["switch:4,bandwidth=1GB/s,latency=100ns", "ring:5,bandwidth=1GB/s,latency=100ns"])
def test_without_contention_it_is_what_the_replay_says(spec: str) -> None:
    traffic = offered(spec, "incast:1", "header=0", message_bytes=20_000, duration_ps=2_000 * US, from_ps=0)
    src, dst = int(traffic.pairs.src[0]), int(traffic.pairs.dst[0])
    assert traffic.with_window(1).far.most_ps == run(traffic.topology, [(src, dst, 20_000)], Packets(header=0)).time_ps


def test_open_loops_offer_their_load_at_random_times() -> None:
    traffic = offered("switch:2,bandwidth=1GB/s,latency=0ns", "permutation", "header=0", duration_ps=400_000 * US)
    half = traffic.at_load(0.5)
    assert half.throughput == pytest.approx(0.5, rel=0.01)
    # A queue with random arrivals and equal services (M/D/1) waits for half a service at half a load; both links pass
    # packets on as they come.
    assert half.mean_ps / US == pytest.approx(4.096 * (1 + 0.5 / (2 * (1 - 0.5))), rel=0.02)
    other = offered(
        "switch:2,bandwidth=1GB/s,latency=0ns", "permutation", "header=0", duration_ps=400_000 * US, seed=1
    ).at_load(0.5)
    assert other.arrived != half.arrived


def test_the_load_of_an_incast_is_its_receivers() -> None:
    traffic = offered("switch:9,bandwidth=1GB/s,latency=1us", "incast", "header=0", duration_ps=2_000 * US)
    assert traffic.rates.tolist() == [0.0, *[1e9 / 8] * 8]
    assert traffic.at_load(0.5).throughput == pytest.approx(0.5, rel=0.1)
    assert traffic.at_load(1.0).far_bandwidth <= 1e9


def test_patterns() -> None:
    topology = load(NODES)
    node = node_of_ranks(topology)
    shift = traffic_pairs("permutation", topology, 3)
    assert sorted(shift.dst.tolist()) == [*range(16)]
    assert (shift.src != shift.dst).all()
    assert shift.dst.tolist() != traffic_pairs("permutation", topology, 4).dst.tolist()
    leaving = traffic_pairs("C2", topology, 0)
    near, far = leaving.src[: leaving.near[-1]], slice(leaving.far[0], leaving.far[-1])
    assert leaving.far_ppm == 150_000
    assert np.bincount(near).tolist() == [3] * 16
    assert np.bincount(leaving.src[far]).tolist() == [12] * 16
    assert (node[leaving.src[far]] != node[leaving.dst[far]]).all()
    assert np.bincount(traffic_pairs("uniform", topology, 0).src).tolist() == [15] * 16
    assert {*traffic_pairs("incast:3", topology, 0).dst.tolist()} == {0}


def joined(machine: list[int], links: list[tuple[int, int, str]]) -> Topology:
    """Ranks in these nodes and as many switches as the links name, of 1 GB/s and 100 ns both ways."""
    ends = [pair for one, other, _ in links for pair in ((one, other), (other, one))]
    return Topology.from_links(
        "joined",
        len(machine),
        [(src, dst, 100 * NS, 10**9) for src, dst in ends],
        num_switches=max(0, max(map(max, ends)) + 1 - len(machine)),
        machine=machine,
        link_class=[name for *_, name in links for _ in range(2)],
    )


def test_uniform_is_uniform_on_nodes_of_unequal_size() -> None:
    # A node of three ranks and one of one: each rank gets a quarter of all, and each sends what the load says.
    topology = joined([0, 0, 0, 1], [(rank, 4, "link") for rank in range(4)])
    traffic = offered(topology, "uniform", "header=0", message_bytes=1000, duration_ps=4_000 * US, from_ps=0)
    found = traffic.at_load(0.5)
    got = found.link_bytes[topology.dst < 4] / found.link_bytes[topology.dst < 4].sum()
    assert got == pytest.approx([0.25] * 4, rel=0.05)
    assert found.arrived_from / found.arrived == pytest.approx([0.25] * 4, rel=0.05)
    assert found.far.total / found.arrived == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("machine", "links", "between"),
    [
        # A switch that ranks of both nodes are on is of neither.
        ([0, 0, 1, 1], [(0, 4, "link"), (1, 4, "link"), (2, 4, "link"), (3, 4, "link")], [0, 1, 2, 3]),
        # A switch in each node, and a trunk.
        ([0, 0, 1, 1], [(0, 4, "link"), (1, 4, "link"), (2, 5, "link"), (3, 5, "link"), (4, 5, "trunk")], [4]),
        # The same with NICs and a leaf: links to what stands between nodes count too, whatever they are called.
        ([0, 1], [(0, 2, "pcie"), (1, 3, "pcie"), (2, 4, "pcie"), (3, 5, "pcie"), (4, 6, "a"), (5, 6, "b")], [4, 5]),
        # Ranks that are joined directly.
        ([0, 0, 1, 1], [(0, 1, "nvlink"), (1, 2, "nvlink"), (2, 3, "nvlink")], [1]),
        # Links of class `fabric` are between nodes, be their switch only one node's.
        ([0, 1], [(0, 2, "pcie"), (2, 3, "fabric"), (1, 3, "fabric")], [1, 2]),
        # Each rank is a node where nothing says what nodes are.
        ([0, 0], [(0, 2, "link"), (1, 2, "link")], [0, 1]),
        ([0, 0], [(0, 2, "pcie"), (1, 2, "pcie")], []),
    ],
)
def test_links_between_nodes(machine: list[int], links: list[tuple[int, int, str]], between: list[int]) -> None:
    assert np.flatnonzero(is_far_link(joined(machine, links))[::2]).tolist() == between


def test_the_way_between_nodes_ends_in_the_last_one() -> None:
    # From rank 0 through both ranks of node 1 to rank 3, store and forward: three links of 200 and 1,100 ns each.
    topology = joined([0, 1, 1, 2], [(0, 1, "link"), (1, 2, "link"), (2, 3, "link")])
    traffic = offered(topology, "incast:1", "header=0", message_bytes=1000, duration_ps=200 * US, from_ps=0, seed=2)
    assert (traffic.pairs.src.tolist(), traffic.pairs.dst.tolist()) == ([3], [0])
    parts = {name: part.mean_ps / NS for name, part in zip(STAGES, traffic.with_window(1).parts, strict=True)}
    assert parts == dict.fromkeys(STAGES, 0) | {"inter-node network": 3 * 1100}


@pytest.mark.parametrize(
    ("pattern", "spec", "says"),
    [
        ("C6", NODES, "no pattern of traffic 'C6'"),
        ("C1:5", NODES, "takes no value"),
        ("inter", NODES, "which share leaves its node"),
        ("inter:120%", NODES, "which share leaves its node"),
        ("uniform:2", NODES, "it takes no value"),
        ("incast:99", NODES, "from 1 to 12"),
        ("C1", "dgx-h100", "is one node"),
        ("C1", "fat_tree:4x4,spines=2,bandwidth=50GB/s,latency=500ns", "has its node for itself"),
    ],
)
def test_patterns_that_there_are_not(pattern: str, spec: str, says: str) -> None:
    with pytest.raises(SimulationError, match=re.escape(says)):
        traffic_pairs(pattern, load(spec), 0)


def test_loads_as_words() -> None:
    assert parse_loads("10%..100%") == [each / 10 for each in range(1, 11)]
    assert parse_loads("0.7,60%..65%:5%") == [0.6, 0.65, 0.7]
    for text in ("0%", "101%", "10%..5%", "ten", "10%..20%:0%"):
        with pytest.raises(SimulationError, match="load '"):
            parse_loads(text)


def test_large_messages_take_no_memory() -> None:
    assert Packets().link_bytes((1 << 50) + 1, "fabric") == (1 << 50) + 1 + ((1 << 38) + 1) * 82


def test_where_it_saturates() -> None:
    traffic = offered(NODES, "C1", CONVERTED, "d_mod_k", duration_ps=60 * US, from_ps=40 * US)
    heard: list[TrafficPoint] = []
    sweep = sweep_traffic(traffic, [0.6, 0.1, 0.3, 0.45], (), heard.append)
    assert [point.load for point in heard] == [0.1, 0.3, 0.45, 0.6]
    found = sweep.saturation
    assert found is not None
    assert (found.above, found.from_load) == (0.3, 0.45)
    assert sweep_traffic(traffic, (), [2, 1], heard.append).saturation is None
