"""PCIe, NICs that convert packets, and what perftest measured between two nodes."""

from dataclasses import replace

import pytest
from packet_networks import GB, NS, run

from hocket.base.errors import SimulationError
from hocket.bench.claims.perftest_curve import IB_WRITE, host_link, ib_write
from hocket.simulator import LinkPackets, Packets, parse_packets
from hocket.topology import Topology

PCIE = LinkPackets(mtu=128, header=20, ack=8, acks=3)  # 3-DW header, sequence, LCRC; two dwords of acknowledgement


def test_a_link_of_pcie_takes_what_its_equation_says() -> None:
    # 32 packets of 128 + 20 bytes and 11 acknowledgements of 8 for a message of 4 KiB.
    pcie = round(16e9 * 128 / 130)
    topology = Topology.from_links("pcie", 2, [(0, 1, 0, pcie)], link_class=["pcie"])
    found = run(topology, [(0, 1, 4096)], Packets(header=0, classes={"pcie": PCIE}))
    assert found.time_ps == -(-(32 * 148 + 11 * 8) * 10**12 // pcie)
    assert found.packets is not None and found.packets.packets.tolist() == [32]


@pytest.mark.parametrize("size", IB_WRITE)
def test_a_node_and_its_nic_take_what_perftest_measured(size: int) -> None:
    # Three stages below a packet of the network, the link alone above it. In the middle the measured node is slower.
    (alone, bandwidth), (latency_us, measured) = ib_write(size), IB_WRITE[size]
    assert alone == pytest.approx(latency_us, rel=0.13 if 1 << 13 < size < 1 << 17 else 0.04)
    assert bandwidth == pytest.approx(measured, rel=0.05 if size >= 1 << 13 or size < 1 << 10 else 0.09)


def test_a_nic_that_splits_packets_holds_them_up() -> None:
    # 64 packets of 4 KiB, 32 of 128 bytes each, 8.26 ns for each of these: four times what PCIe takes.
    slow = replace(PCIE, split=33_040)
    packets = Packets(header=64, buffer=1 << 20, classes={"pcie": slow})
    found = run(host_link(), [(0, 1, 64 * 4096)], packets)
    first = run(host_link(), [(0, 1, 4096)], packets)
    assert found.time_ps - first.time_ps == 63 * 32 * 33_040


def test_the_gap_of_a_nic_is_occupancy_and_no_latency() -> None:
    # 256 bytes take 20 ns of the link. One alone is as late as without a gap, and each next one 292 ns later.
    without, gap = parse_packets("header=0,pcie=pcie3x16"), parse_packets("header=0,pcie=pcie3x16,link.gap=292ns")
    one, ten = [(0, 1, 256)], [(0, 1, 256)] * 10
    assert run(host_link(), one, gap).time_ps == run(host_link(), one, without).time_ps
    assert run(host_link(), ten, gap).time_ps - run(host_link(), one, gap).time_ps == 9 * 292 * NS
    # A message that keeps the link busy for longer than that pays nothing, be it of one packet or of several.
    for size in (4096, 16384):
        sends = [(0, 1, size)] * 5
        assert run(host_link(), sends, gap).time_ps == run(host_link(), sends, without).time_ps


def test_the_gap_is_of_messages_whatever_their_packets() -> None:
    # Four packets of 64 bytes per message, 50 ns of a link that a NIC gives a message every 292 ns.
    gap = parse_packets("mtu=64,header=0,link.gap=292ns")
    found = [run(host_link(), [(0, 1, 256)] * count, gap).time_ps for count in (1, 10)]
    assert found[1] - found[0] == 9 * 292 * NS


def test_switches_have_no_gap() -> None:
    # Two ranks behind NICs send through one switch to a third: the switch's link into it takes messages as they come.
    links = [(0, 3, 100 * NS, GB), (1, 3, 100 * NS, GB), (3, 4, 100 * NS, GB), (4, 2, 100 * NS, GB)]
    topology = Topology.from_links("two", 3, links, num_switches=2, link_class=["fabric"] * 4)
    sends = [(0, 2, 100), (1, 2, 100)] * 4
    gap = run(topology, sends, parse_packets("header=0,fabric.gap=300ns"))
    # The fourth pair leaves at 900 ns, over three links of 100 ns, and one after the other over the second of them.
    assert gap.time_ps == (3 * 300 + 3 * 100 + 2 * 100) * NS


def test_classes_of_links_by_name() -> None:
    said = "header=64,pcie.mtu=128,pcie.header=20,pcie.ack=8,pcie.acks=3,pcie.split=8.26ns"
    assert parse_packets(said) == Packets(header=64, classes={"pcie": replace(PCIE, split=8_260)})
    with pytest.raises(SimulationError, match=r"CLASS\.NAME=VALUE of mtu, header, buffer"):
        parse_packets("pcie.flow=pfc")
    with pytest.raises(SimulationError, match="nvlink: the classes of links of host link are pcie, link"):
        run(host_link(), [(0, 1, 1)], parse_packets("nvlink.mtu=256"))
