"""PCIe, NICs that convert packets, and what perftest measured between two nodes."""

from dataclasses import replace

import pytest
from packet_networks import NS, US, run

from hocket.base.errors import SimulationError
from hocket.simulator import LinkPackets, Packets, parse_packets
from hocket.topology import Topology


def host_link() -> Topology:
    """Rank 0, its NIC, the other NIC and rank 1: PCIe of generation 3 with 16 lanes, EDR InfiniBand after its coding,
    and 1.5 us of latency in all."""
    pcie, wire = round(16e9 * 128 / 130), round(12.5e9 * 64 / 66)
    links = [(0, 2, 500 * NS, pcie), (2, 3, 500 * NS, wire), (3, 1, 500 * NS, pcie)]
    return Topology.from_links("host link", 2, links, num_switches=2, link_class=["pcie", "link", "pcie"])


PCIE = LinkPackets(mtu=128, header=20, ack=8, acks=3)  # 3-DW header, sequence, LCRC; two dwords of acknowledgement


def test_a_link_of_pcie_takes_what_its_equation_says() -> None:
    # 32 packets of 128 + 20 bytes and 11 acknowledgements of 8 for a message of 4 KiB.
    pcie = round(16e9 * 128 / 130)
    topology = Topology.from_links("pcie", 2, [(0, 1, 0, pcie)], link_class=["pcie"])
    found = run(topology, [(0, 1, 4096)], Packets(header=0, classes={"pcie": PCIE}))
    assert found.time_ps == -(-(32 * 148 + 11 * 8) * 10**12 // pcie)
    assert found.packets is not None and found.packets.packets.tolist() == [32]


# Of ib_write_lat and ib_write_bw between two nodes with PCIe 3.0 x16 and EDR InfiniBand (Tarraga-Moreno et al., table
# 1): bytes, microseconds, GB/s.
PERFTEST = [
    (256, 1.56, None),
    (512, 1.58, None),
    (1 << 10, 1.70, None),
    (1 << 11, 1.95, None),
    (1 << 12, 2.46, None),
    (1 << 13, 2.84, 11.58),
    (1 << 14, 3.88, 11.53),
    (1 << 15, 5.41, 11.60),
    (1 << 16, 8.06, 11.62),
    (1 << 17, 13.39, 11.90),
    (1 << 18, 24.27, 11.92),
    (1 << 19, 45.73, 11.93),
    (1 << 20, 88.95, 11.93),
    (1 << 21, 174.65, 11.93),
    (1 << 22, 345.97, 11.86),
]


@pytest.mark.parametrize(("size", "latency_us", "bandwidth"), PERFTEST)
def test_a_node_and_its_nic_take_what_perftest_measured(size: int, latency_us: float, bandwidth: float | None) -> None:
    packets = Packets(header=64, buffer=1 << 20, classes={"pcie": PCIE})
    # Three stages below a packet of the network, the link alone above it. In the middle the measured node is slower.
    alone = run(host_link(), [(0, 1, size)], packets).time_ps / US
    assert alone == pytest.approx(latency_us, rel=0.13 if 1 << 13 < size < 1 << 17 else 0.04)
    if bandwidth is not None:
        count = max(2, (1 << 22) // size)
        many = run(host_link(), [(0, 1, size)] * count, packets).time_ps
        assert (count * size - size) / (many / US - alone) / 1000 == pytest.approx(bandwidth, rel=0.05)


def test_a_nic_that_splits_packets_holds_them_up() -> None:
    # 64 packets of 4 KiB, 32 of 128 bytes each, 8.26 ns for each of these: four times what PCIe takes.
    slow = replace(PCIE, split=33_040)
    packets = Packets(header=64, buffer=1 << 20, classes={"pcie": slow})
    found = run(host_link(), [(0, 1, 64 * 4096)], packets)
    first = run(host_link(), [(0, 1, 4096)], packets)
    assert found.time_ps - first.time_ps == 63 * 32 * 33_040


def test_classes_of_links_by_name() -> None:
    said = "header=64,pcie.mtu=128,pcie.header=20,pcie.ack=8,pcie.acks=3,pcie.split=8.26ns"
    assert parse_packets(said) == Packets(header=64, classes={"pcie": replace(PCIE, split=8_260)})
    with pytest.raises(SimulationError, match=r"CLASS\.NAME=VALUE of mtu, header, buffer"):
        parse_packets("pcie.flow=pfc")
    with pytest.raises(SimulationError, match="nvlink: the classes of links of host link are pcie, link"):
        run(host_link(), [(0, 1, 1)], parse_packets("nvlink.mtu=256"))
