"""Model packet by numbers that fit in a line: pipelines, incast, pauses, losses, marks, collisions, circles."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packet_networks import GB, NS, US, Send, run, star, traces_of

import hocket
from hocket._core.simulator import PacketSettings, replay
from hocket.base.errors import DeadlockError, RequestError, SimulationError
from hocket.schedule import Collective, Kind
from hocket.simulator import (
    Fidelity,
    Packets,
    Prediction,
    parse_packets,
    simulate_collective,
    simulate_traces,
)
from hocket.simulator.analysis import latency_table, prediction_json, queue_table, queue_use_table, tables
from hocket.simulator.engine_run import engine_job
from hocket.simulator.traces import Hardware, workload_of
from hocket.topology import Topology, load, routing_of


def finish_ns(prediction: Prediction) -> list[float]:
    """When each message is there, in the order of its sends, when every rank sends one."""
    return (prediction.node_finish_ps / NS).tolist()


def line(latencies_ns: Sequence[int], bandwidths: Sequence[int]) -> Topology:
    """Rank 0, switches, rank 1."""
    nodes = [0, *range(2, 1 + len(latencies_ns)), 1]
    links = [
        (nodes[at], nodes[at + 1], latency * NS, bandwidth)
        for at, (latency, bandwidth) in enumerate(zip(latencies_ns, bandwidths, strict=True))
    ]
    return Topology.from_links("line", 2, links, num_switches=len(latencies_ns) - 1)


@pytest.mark.parametrize(("switching", "stored"), [("cut_through", 0), ("store_and_forward", 2)])
def test_packets_in_a_pipeline(switching: str, stored: int) -> None:
    # Three links of 1 byte/ns and 10 ns; 5 packets of 1000 + 50 bytes follow one another. A switch that stores costs
    # one packet more.
    alone = run(line([10] * 3, [GB] * 3), [(0, 1, 5000)], Packets(mtu=1000, header=50), switching=switching)
    assert alone.time_ps == (3 * 10 + (5 + stored) * 1050) * NS
    packets = alone.packets
    assert packets is not None and packets.packets.tolist() == [5, 5, 5]
    assert packets.packet_latency.most_ps == (30 + (1 + stored) * 1050) * NS
    assert packets.message_latency.mean_ps == alone.time_ps
    assert not packets.waiting_most_bytes.any() and not packets.buffer_most_bytes.any()


def pipelined(topology: Topology, size: int, packets: Packets, stores: bool) -> int:
    """When the last byte is there: the recurrence of packets through links, each as soon as it can go without running
    dry."""
    links = [*zip(topology.latency_ps.tolist(), topology.bandwidth.tolist(), strict=True)]
    free = [0] * len(links)
    for offset in range(0, size, packets.mtu):
        length = min(packets.mtu, size - offset) + packets.header
        head = tail = 0
        for at, (latency, bandwidth) in enumerate(links):
            serialization = -(-length * 10**12 // bandwidth)
            ready = tail if stores else max(head, tail - serialization)
            start = max(ready, free[at])
            free[at] = start + serialization
            head, tail = start + latency, start + serialization + latency
    return tail


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2000), st.sampled_from([GB, 3 * GB, 50 * GB])), min_size=1, max_size=5),
    st.integers(1, 200_000),
    st.integers(100, 9000),
    st.integers(0, 100),
    st.booleans(),
)
def test_a_message_alone_takes_the_pipeline_of_its_packets(
    links: list[tuple[int, int]], size: int, mtu: int, header: int, stores: bool
) -> None:
    topology = line([latency for latency, _ in links], [bandwidth for _, bandwidth in links])
    packets = Packets(mtu=mtu, header=header, buffer=1 << 24)
    switching = "store_and_forward" if stores else "cut_through"
    for flow in ("pfc", "none"):
        found = run(
            topology, [(0, 1, size)], Packets(mtu=mtu, header=header, buffer=1 << 24, flow=flow), switching=switching
        )
        assert found.time_ps == pipelined(topology, size, packets, stores)


@pytest.mark.parametrize("spec", ["switch:4", "fat_tree:4x2,spines=2", "torus:4x4", "ring:5", "dragonfly:2x4"])
def test_alone_and_without_headers_it_is_the_analytical_model(spec: str) -> None:
    topology = load(f"{spec},bandwidth=1GB/s,latency=100ns")
    for dst in range(1, topology.num_ranks):
        traces = traces_of(topology.num_ranks, [(0, dst, 8192)])
        analytical = simulate_traces(traces, topology, fidelity=Fidelity("analytical", routing="shortest"))
        for train in (1, 2):
            packets = Packets(mtu=1024, header=0, train=train)
            found = run(topology, [(0, dst, 8192)], packets, routing="shortest")
            assert found.time_ps == analytical.time_ps


@pytest.mark.parametrize("flow", ["pfc", "credits"])
@pytest.mark.parametrize("train", [1, 4])
def test_incast_drains_at_the_rate_of_its_link(flow: str, train: int) -> None:
    # 7 ranks send 64 packets of 1000 bytes each to rank 0: the link to it is never idle from 100 ns on. Buffers of 16
    # packets: senders of pauses and credits are 200 ns away, less than a packet.
    found = run(star(8), [(src, 0, 64_000) for src in range(1, 8)], Packets(1000, 0, train, 16_000, flow))
    assert found.time_ps == (2 * 100 + 7 * 64 * 1000) * NS
    traffic = found.packets
    assert traffic is not None
    assert (traffic.buffer_most_bytes <= 16_000 + (2000 * train if flow == "pfc" else 0)).all()
    assert (traffic.pauses.sum() > 0) == (flow == "pfc")
    # Inputs take turns, so all end within a round.
    finish = np.array(finish_ns(found))
    assert finish.max() - finish.min() <= 7 * train * 1000


def test_the_oldest_message_first() -> None:
    # Two messages of rank 1 follow each other, one of rank 2 begins with the first: by age rank 2's is done before the
    # second one begins to wait for the link.
    sends = [(1, 0, 10_000), (2, 0, 10_000), (1, 0, 10_000)]
    turns = run(star(3), sends, Packets(1000, 0))
    ages = run(star(3), sends, Packets(1000, 0, arbitration="age"))
    assert turns.time_ps == ages.time_ps == 30_200 * NS
    assert sorted(finish_ns(ages))[1] <= 20_200


def victim(packets: Packets) -> tuple[int, Prediction]:
    """When rank 1's message to rank 3 is there, whose only link with others is the trunk from switch 6 to 7; rank 2
    gets messages of ranks 0, 4 and 5."""
    pairs = [(0, 6), (1, 6), (6, 7), (7, 2), (7, 3), (4, 7), (5, 7)]
    links = [(a, b, 100 * NS, 4 * GB if (a, b) == (6, 7) else GB) for a, b in pairs]
    topology = Topology.from_links("victim", 6, links, num_switches=2)
    found = run(topology, [(0, 2, 400_000), (1, 3, 100_000), (4, 2, 400_000), (5, 2, 400_000)], packets)
    return int(found.node_finish_ps[1]), found


def test_a_pause_slows_those_that_have_nothing_to_do_with_it() -> None:
    # Alone it takes its bytes and three latencies, and before the trunk, which has four times the bandwidth, most of a
    # packet, so that this does not run dry.
    alone = (100_000 + 300 + 750) * NS
    unhindered, roomy = victim(Packets(1000, 0, buffer=1_000_000))
    assert alone <= unhindered <= alone + 250 * NS  # its packets wait for one of rank 0's at most
    assert roomy.packets is not None and not roomy.packets.pauses.any()
    hindered, tight = victim(Packets(1000, 0, buffer=16_000))
    # Behind the trunk it gets its turns only as rank 0's packets drain, at a third of the link to rank 2.
    assert hindered > 2 * alone
    assert tight.packets is not None and tight.packets.pauses[2] > 0 and tight.packets.paused_ps[2] > alone // 2
    assert roomy.time_ps == tight.time_ps, "the incast itself loses nothing"


def test_flows_that_are_hashed_to_one_link_share_it_evenly() -> None:
    topology = load("fat_tree:4x2,spines=1,bandwidth=1GB/s,latency=100ns")
    found = run(topology, [(0, 4, 100_000), (1, 5, 100_000), (2, 6, 100_000)], Packets(1000, 0), routing="ecmp")
    finish = np.array(finish_ns(found))[:3]
    assert finish.max() == 300_000 + 4 * 100
    assert finish.max() - finish.min() <= 2 * 1000


def test_single_packets_spread_over_all_paths() -> None:
    # One packet a message, 64 messages, 8 spines.
    topology = load("fat_tree:8x2,spines=8,bandwidth=1GB/s,latency=100ns")
    sends = [(src, 8 + (src + shift) % 8, 1000) for shift in range(8) for src in range(8)]
    found = run(topology, sends, Packets(1000, 0), routing="spray")
    assert found.packets is not None
    up = (topology.src == 16) & (topology.dst >= 18)
    carried = found.packets.packets[up]
    assert carried.sum() == 64 and carried.min() >= 2 and carried.max() <= 20


def circle_of_switches(switches: int = 4) -> tuple[Topology, list[Send]]:
    """Switches in a circle with a rank each, that sends to the one three further on."""
    links = []
    for at in range(switches):
        links += [(at, switches + at, NS, GB), (switches + at, at, NS, GB)]
        links.append((switches + at, switches + (at + 1) % switches, NS, GB))
    topology = Topology.from_links("circle", switches, links, num_switches=switches)
    return topology, [(at, (at + switches - 1) % switches, 100_000) for at in range(switches)]


def test_buffers_that_wait_in_a_circle_are_refused_by_name() -> None:
    topology, sends = circle_of_switches()
    with pytest.raises(DeadlockError, match=r"switch 4 -> switch 5, switch 5 -> switch 6, .*channels=4"):
        run(topology, sends, Packets(1000, 0, buffer=4000, channels=1))


@pytest.mark.parametrize("flow", ["pfc", "credits"])
def test_virtual_channels_open_the_circle(flow: str) -> None:
    topology, sends = circle_of_switches()
    packets = Packets(1000, 0, buffer=4000, flow=flow)
    # Without them it does deadlock.
    workload = workload_of(traces_of(4, sends), 1, Hardware())
    job = engine_job(workload, topology, routing_of(topology))
    plain = np.zeros(topology.num_links, np.uint8)
    stuck = replay(
        job, [], topology.graph, "packet", plain, plain, (1, 1), False, 0, False, packets.settings(1, topology)
    )
    assert (stuck["finish_ps"] < 0).any()
    found = run(topology, sends, packets)
    assert found.packets is not None and found.packets.channels == 4
    assert any("4 virtual channels" in note for note in found.notes)


SHIPPED = [
    "fat_tree:4x4,spines=2",
    "dragonfly:2x4",
    "switch:8",
    "torus:3x3",
    "dgx-h100:nodes=2",
    "hypercube:3",
    "mesh:3x3",
]


@settings(max_examples=30)
@given(
    st.sampled_from(SHIPPED),
    st.sampled_from(["shortest", "parallel", "ecmp", "spray", "d_mod_k", "adaptive"]),
    st.sampled_from(["pfc", "credits"]),
    st.integers(0, 2**32),
)
def test_nothing_deadlocks_and_every_byte_arrives_once(spec: str, routing: str, flow: str, seed: int) -> None:
    topology = load(spec if spec.startswith("dgx") else f"{spec},bandwidth=50GB/s,latency=500ns")
    random = np.random.default_rng(seed)
    sends = [
        (src, int((src + random.integers(1, topology.num_ranks)) % topology.num_ranks), int(random.integers(0, 50_000)))
        for src in range(topology.num_ranks)
        for _ in range(6)
    ]
    packets = Packets(1024, 26, buffer=3000, flow=flow, arbitration=str(random.choice(["age", "round_robin"])))
    found = run(topology, sends, packets, routing=routing)
    assert (found.node_finish_ps >= 0).all()
    # What comes into a node is what goes out, less what it sends and more what it gets.
    kept = np.zeros(topology.num_nodes, np.int64)
    for src, dst, size in sends:
        kept[src] -= size
        kept[dst] += size
    np.add.at(kept, topology.dst, -found.link_bytes)
    np.add.at(kept, topology.src, found.link_bytes)
    assert not kept.any()
    # Those routings are of messages, not of packets: they say how many bytes are on which link.
    if routing in ("shortest", "ecmp", "d_mod_k"):
        fidelity = Fidelity("congestion", routing=routing)
        whole = simulate_traces(traces_of(topology.num_ranks, sends), topology, fidelity=fidelity)
        assert (found.link_bytes == whole.link_bytes).all()
    assert found.time_ps >= found.bound_ps
    again = run(topology, sends, packets, routing=routing)
    assert prediction_json(again) == prediction_json(found)


def test_what_is_lost_is_sent_again() -> None:
    # Buffers of 8 packets, 15 senders of 40 packets each.
    sends = [(src, 0, 40_000) for src in range(1, 16)]
    packets = Packets(1000, 0, buffer=8000, flow="none", retransmit=500 * US)
    found = run(star(16), sends, packets)
    assert found.packets is not None
    assert found.packets.dropped.sum() > 0 and found.packets.sent_again_bytes > 0
    assert (found.node_finish_ps > 0).all()
    assert found.packets.message_latency.total == 15
    # What arrived counts once, whatever was sent.
    assert found.packets.packet_latency.total == 15 * 40
    assert found.time_ps > (600_000 + 200) * NS
    never = run(star(16), sends, Packets(1000, 0, buffer=64_000, flow="none"))
    assert never.packets is not None and not never.packets.dropped.any() and not never.packets.sent_again_bytes
    assert never.time_ps == (600_000 + 200) * NS


def test_a_last_packet_that_is_lost_costs_the_timeout() -> None:
    # Rank 1 has 3 packets for rank 0, rank 2 has 4, and a switch that holds 1 a link: while one goes out, one waits.
    packets = Packets(1000, 0, buffer=1000, flow="none", retransmit=100 * US)
    found = run(star(3, 0), [(1, 0, 3000), (2, 0, 3000)], packets)
    assert found.packets is not None and found.packets.dropped.sum() > 0
    assert found.time_ps > 100 * US


def test_marks_slow_senders_and_empty_queues() -> None:
    topology = load("switch:9,bandwidth=50GB/s,latency=500ns")
    sends = [(src, 0, 40_000_000) for src in range(1, 9)]
    paused = run(topology, sends)
    marked = run(topology, sends, Packets(ecn=True, kmin=20_000, kmax=200_000, pmax=0.1))
    assert paused.packets is not None and marked.packets is not None
    to_rank_0 = int(np.flatnonzero(topology.dst == 0)[0])
    assert marked.packets.marked[to_rank_0] > 0 and marked.packets.notifications > 0
    assert marked.packets.pauses.sum() < paused.packets.pauses.sum() / 10
    assert marked.packets.waiting_mean_bytes[to_rank_0] < paused.packets.waiting_mean_bytes[to_rank_0] / 2
    # The price are rates that recover slowly.
    least = 8 * 40_000_000 * (4096 + 82) / 4096 / 50e9 * 1e12
    assert least <= paused.time_ps < 1.01 * least
    assert least <= marked.time_ps < 1.3 * least


def test_tables_of_queues_and_percentiles() -> None:
    found = run(star(8), [(src, 0, 64_000) for src in range(1, 8)], Packets(1000, 0), link_bins=64)
    latencies = latency_table(found)
    assert latencies["what"].tolist() == ["messages", "packets"] and latencies["count"].tolist() == [7, 7 * 64]
    assert (latencies["p50_ps"] <= latencies["p99_ps"]).all() and (latencies["p99_ps"] <= latencies["most_ps"]).all()
    queues, use = queue_table(found), queue_use_table(found)
    to_rank_0 = found.topology.dst[queues["link"]] == 0
    assert queues["packets"][to_rank_0].tolist() == [7 * 64]
    # From 100 ns on 7 bytes come in each ns until all have sent: six of seven wait.
    assert queues["waiting_most_bytes"][to_rank_0][0] == pytest.approx(6 * 64_000, abs=7000)
    area = (use["waiting_mean_bytes"] * (use["finish_ps"] - use["start_ps"])).sum()
    assert area / found.time_ps == pytest.approx(queues["waiting_mean_bytes"].sum(), rel=1e-3)
    assert {"queues", "latencies", "queue_use"} <= tables(found).keys()
    assert prediction_json(found)["packets"]["queues"]["packets"] == queues["packets"].tolist()


def test_collectives_take_what_flows_do_and_their_headers() -> None:
    topology = load("switch:8,bandwidth=50GB/s,latency=500ns")
    collective = Collective(Kind.ALL_REDUCE, 8, 8 * 2**20)
    flow = simulate_collective(collective, topology, "ring", fidelity=Fidelity("flow"))
    packet = simulate_collective(collective, topology, "ring", fidelity=Fidelity("packet", packets=Packets(header=0)))
    assert packet.time_ps == flow.time_ps
    with_headers = simulate_collective(collective, topology, "ring", fidelity=Fidelity("packet"))
    assert with_headers.time_ps / flow.time_ps == pytest.approx((4096 + 82) / 4096, rel=2e-3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mtu=0", "not positive"),
        ("size=4", "expected NAME=VALUE of mtu, header"),
        ("flow=never", "expected pfc, credits, none"),
        ("buffer=1KiB", "no packet of 4178 bytes fits"),
        ("ecn=maybe", "expected such as ecn=on"),
        ("kmin=5KB", "go together"),
        ("pmax=2", "no such marks"),
        ("seed=-1", "negative"),
        ("train=100000", "no train of 100000 packets"),
    ],
)
def test_settings_that_no_network_has(text: str, says: str) -> None:
    with pytest.raises(SimulationError, match=says):
        parse_packets(text)


def test_settings_as_words() -> None:
    text = "mtu=1KiB,header=26,buffer=64KiB,flow=credits,arbitration=age,channels=2"
    text += ",ecn=on,kmin=5KB,kmax=200KB,retransmit=1ms"
    assert parse_packets(text) == Packets(
        1024, 26, 1, 65536, "credits", "age", 2, True, 5000, 200_000, retransmit=1000 * US
    )
    assert isinstance(Packets().settings(1, star(2)), PacketSettings)
    with pytest.raises(SimulationError, match="flow has none"):
        Fidelity("flow", packets=Packets())


SWITCH = "switch:8,bandwidth=50GB/s,latency=500ns"


def test_as_users_ask(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    said = "buffer=64KiB,train=2"
    result = hocket.simulate(
        "gather", SWITCH, "8MiB", model="packet", packets=said, algorithm="direct", tables=str(folder)
    )
    assert "p99.9" in result.summary() and "for switch 8 -> rank 0" in result.summary()
    assert "trains of 2" in result.summary() and "fewer than 15" in result.summary()
    assert {"latencies.csv", "queues.csv", "queue_use.csv"} <= {path.name for path in folder.iterdir()}
    assert result.as_json()["packets"]["latencies"]["what"] == ["messages", "packets"]
    with pytest.raises(RequestError, match="add model packet"):
        hocket.simulate("all_to_all", SWITCH, "8MiB", packets="mtu=1KiB")
    with pytest.raises(SimulationError, match="expected NAME=VALUE"):
        hocket.simulate("all_to_all", SWITCH, "8MiB", model="packet", packets="size=1")
