"""Paths over the ports of machines that messages name."""

import numpy as np
import pytest

from hocket.topology import Crossing, Paths, Ports, Topology, read_routing

GB = 10**9
# Ranks 0-7, two a machine; a NIC a rank, 8-15; leaves 16 and 17 of two machines; spines 18-21.
RANKS, LEAVES, SPINES = 8, (16, 17), (18, 19, 20, 21)


def two_tiers() -> Topology:
    links, classes = [], []

    def join(one: int, other: int, bandwidth: int, link_class: str) -> None:
        links.extend([(one, other, 500, bandwidth), (other, one, 500, bandwidth)])
        classes.extend([link_class] * 2)

    for rank in range(0, RANKS, 2):
        join(rank, rank + 1, 400 * GB, "nvlink")
    for rank in range(RANKS):
        join(rank, RANKS + rank, 50 * GB, "pcie")
    for rank in range(RANKS):
        join(RANKS + rank, LEAVES[rank // 4], 50 * GB, "fabric")
    for leaf in LEAVES:
        for spine in SPINES:
            join(leaf, spine, 50 * GB, "fabric")
    return Topology.from_links("two tiers", RANKS, links, num_switches=14, link_class=classes)


def nodes_of(topology: Topology, paths: Paths) -> list[list[int]]:
    """The nodes that each path goes through."""
    each = np.split(paths.links, paths.link_offset[1:-1])
    return [[int(topology.src[links[0]]), *topology.dst[links].tolist()] for links in each]


def over_ports(routing: str, messages: list[tuple[int, int, Crossing]], flows: list[int]) -> Paths:
    return Ports(two_tiers()).paths(messages, read_routing(routing), np.array(flows, np.int64))


#: Rank 0 hands rank 1 what it sends to rank 4: out of NIC 1, into NIC 0 of the third machine.
ACROSS = (0, 4, Crossing(through=1, leave=1, arrive=0, ports=2))


def test_spray_goes_over_all_spines_between_the_ports() -> None:
    paths = over_ports("spray", [ACROSS], [0])
    assert nodes_of(two_tiers(), paths) == [[0, 1, 9, 16, spine, 17, 12, 4] for spine in SPINES]
    assert len(set(paths.share.tolist())) == 1


def test_one_leaf_and_one_machine_leave_no_choice() -> None:
    near = (0, 2, Crossing(through=0, leave=0, arrive=1, ports=2))
    assert nodes_of(two_tiers(), over_ports("spray", [near, ACROSS], [0, 0]))[0] == [0, 8, 16, 11, 3, 2]


@pytest.mark.parametrize("routing", ["shortest", "parallel"])
def test_routings_without_a_choice_take_the_lowest_spine(routing: str) -> None:
    paths = over_ports(routing, [ACROSS], [0])
    assert nodes_of(two_tiers(), paths) == [[0, 1, 9, 16, SPINES[0], 17, 12, 4]]


def test_ecmp_hashes_channels_and_ports() -> None:
    channels = over_ports("ecmp", [ACROSS] * 32, list(range(32)))
    assert {nodes[4] for nodes in nodes_of(two_tiers(), channels)} == set(SPINES)
    # the same channel between other ports of the same switches is another flow
    pairs = [(src, dst, Crossing(src, src % 2, dst % 2, 2)) for src in range(4) for dst in range(4, 8)]
    ports = over_ports("ecmp", pairs, [0] * len(pairs))
    assert {nodes[3] for nodes in nodes_of(two_tiers(), ports)} == set(SPINES)


def test_d_mod_k_spreads_the_ports_of_a_leaf() -> None:
    paths = over_ports("d_mod_k", [(0, dst, Crossing(0, 0, dst % 2, 2)) for dst in range(4, 8)], [0] * 4)
    assert sorted(nodes[3] for nodes in nodes_of(two_tiers(), paths)) == list(SPINES)
