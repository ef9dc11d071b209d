"""Nodes of accelerators around a switch, and the links inside them."""

import re

import pytest

from hocket.base.errors import FormatError, HocketError
from hocket.simulator import LinkPackets, parse_packets
from hocket.topology import load
from hocket.topology.machines.node_links import LinkFormat, read_node_link


def test_a_link_of_pcie_by_equation_1() -> None:
    # 16 lanes of 8 GT/s, 128 of 130 bits; 32 packets of 128 and 20 bytes, 11 acknowledgements of 8 (AckFactor 3).
    link = read_node_link("pcie3x16")
    assert link.bandwidth == 16 * 10**9 * 128 // 130
    assert link.wire_bytes(4096) == 32 * 148 + 11 * 8
    assert 128 / (link.wire_bytes(128 * 3) / 3 / (link.bandwidth / 10**9)) == pytest.approx(13.384, abs=0.001)


@pytest.mark.parametrize(
    ("text", "name", "gigabytes", "packets"),
    [
        ("pcie1x1", "pcie", 0.25, LinkFormat(128, 20, 40, 7)),
        ("pcie4x8:256", "pcie", 15.754, LinkFormat(256, 20, 16, 5)),
        ("pcie5x16:512", "pcie", 63.015, LinkFormat(512, 20, 8, 2)),
        ("pcie6x16:256", "pcie", 118.0, LinkFormat(256, 12)),
        ("nvlink4", "nvlink", 450.0, LinkFormat(256, 16)),
        ("nvlink5x2", "nvlink", 100.0, LinkFormat(256, 16)),
        ("infinity_fabric3", "infinity_fabric", 448.0, LinkFormat(64, 15)),
        ("ualink1x4", "ualink", 100.0, LinkFormat(256, 19)),
        ("512Gbit/s", "intra", 64.0, None),
    ],
)
def test_links_by_their_technology(text: str, name: str, gigabytes: float, packets: LinkFormat | None) -> None:
    found = read_node_link(text)
    assert (found.link_class, found.format) == (name, packets)
    assert found.bandwidth / 10**9 == pytest.approx(gigabytes, abs=0.001)


@pytest.mark.parametrize("text", ["pcie8x16", "pcie3x5", "pcie3x16:100", "nvlink9", "nvlink4:128", "nvlink", "hyper3"])
def test_links_that_there_are_not(text: str) -> None:
    with pytest.raises(FormatError, match=r"such as|expected"):
        read_node_link(text)


def test_a_node_and_its_fabric() -> None:
    # The paper's 32 nodes on 12 switches of 8 ports.
    topology = load("node:accelerators=8,link=pcie5x16,nics=2,nodes=32,fabric=fat_tree,leaf=2,spines=4")
    assert topology.num_ranks == 256
    assert topology.num_nodes - topology.num_ranks == 32 + 2 * 32 + 16 + 4
    assert topology.classes == ("pcie", "fabric")
    assert topology.machine.tolist() == [rank // 8 for rank in range(256)]
    assert "--packets pcie=pcie5x16" in topology.notes[0]
    rlft = load("node:accelerators=1,link=512Gbit/s,nodes=32,fabric=fat_tree,leaf=4,spines=4,fabric_latency=50ns")
    assert rlft.num_nodes - rlft.num_ranks - 2 * 32 == 12
    fabric = rlft.link_class == rlft.classes.index("fabric")
    assert {*rlft.bandwidth[fabric].tolist()} == {50 * 10**9}
    assert {*rlft.latency_ps[fabric].tolist()} == {50_000}
    alone = load("node:accelerators=8,link=nvlink4")
    assert alone.num_nodes == 9


def test_the_nic_may_be_on_another_link() -> None:
    topology = load("node:accelerators=2,link=nvlink4,nic_link=pcie5x16,nodes=2,latency=10ns")
    assert topology.classes == ("nvlink", "pcie", "fabric")
    assert len(topology.notes) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("link=pcie3x16", "accelerators is missing: add accelerators=8"),
        ("accelerators=8", "link is missing: add link=pcie5x16"),
        ("accelerators=1,link=pcie3x16", "2 accelerators or more in all"),
        ("accelerators=2,link=pcie3x16,nics=3", "nics=3: expected 1 to 2"),
        ("accelerators=2,link=pcie3x16,cpus=1", "unknown key 'cpus'"),
        ("accelerators=2,link=cable", "is no link inside a node"),
    ],
)
def test_nodes_that_there_are_not(options: str, says: str) -> None:
    with pytest.raises(HocketError, match=re.escape(says)):
        load(f"node:{options}")


def test_packets_by_the_technology_of_their_links() -> None:
    found = parse_packets("header=64,pcie=pcie3x16,pcie.split=8ns,pcie.buffer=64KiB")
    assert found.classes == {"pcie": LinkPackets(mtu=128, header=20, ack=8, acks=3, split=8000, buffer=65_536)}
    assert found.link_bytes(4096 + 1000, "pcie") == (32 * 148 + 11 * 8) + (1000 + 8 * 20 + 3 * 8)
    assert found.link_bytes(5000, "fabric") == 5000 + 2 * 64
