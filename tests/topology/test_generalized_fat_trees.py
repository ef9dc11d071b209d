"""Fat trees of any levels, and what their tables carry."""

import numpy as np
import pytest

import hocket
from hocket.base.errors import ExitCode, FormatError
from hocket.topology import Topology, load, routing_of
from hocket.topology.routing_tables import routing_tables

LINKS = "bandwidth=50GB/s,latency=500ns"


def neighbours(topology: Topology, node: int) -> list[int]:
    return sorted(topology.dst[topology.src == node].tolist())


@pytest.mark.parametrize(
    ("spec", "ranks", "switches"),
    [
        ("rlft:8", 32, 12),
        ("rlft:16", 128, 24),
        ("rlft:32", 512, 48),
        ("rlft:4,levels=1", 4, 1),
        ("rlft:4,levels=3", 16, 20),  # the k-ary fat tree of k = 4: 5 k^2 / 4 switches
        ("rlft:8,levels=3", 128, 80),
        ("pgft:4x8x1x4x1x1", 32, 12),
        ("pgft:3x2x4x1x2x2x1x3x1", 24, 8 + 8 + 4),
    ],
)
def test_sizes(spec: str, ranks: int, switches: int) -> None:
    topology = load(f"{spec},{LINKS}")
    assert (topology.num_ranks, topology.num_nodes - topology.num_ranks) == (ranks, switches)


def test_the_smallest_tree_of_three_levels_by_hand() -> None:
    """Ranks 0..15, leaves 16..23, spines 24..31, cores 32..35: spines of a pod differ in the cores above them."""
    topology = load(f"rlft:4,levels=3,{LINKS}")
    assert neighbours(topology, 16) == [0, 1, 24, 25]
    assert neighbours(topology, 17) == [2, 3, 24, 25]
    assert neighbours(topology, 18) == [4, 5, 26, 27]
    assert neighbours(topology, 24) == [16, 17, 32, 34]
    assert neighbours(topology, 25) == [16, 17, 33, 35]
    assert neighbours(topology, 32) == [24, 26, 28, 30]
    assert topology.classes == ("leaf", "spine", "core")


def test_a_fat_tree_of_two_levels_is_the_one_that_there_was() -> None:
    old, new = load(f"fat_tree:4x8,spines=4,{LINKS}"), load(f"rlft:8,{LINKS}")
    links = [set(zip(each.src.tolist(), each.dst.tolist(), strict=True)) for each in (old, new)]
    assert links[0] == links[1]


@pytest.mark.parametrize("spec", ["rlft:8", "rlft:16", "rlft:4,levels=3", "rlft:6,levels=3"])
def test_every_shift_has_links_of_its_own_under_d_mod_k(spec: str) -> None:
    """Zahavi's theorem for real-life fat trees: no link carries two flows in any shift."""
    topology = load(f"{spec},{LINKS}")
    tables = routing_tables(topology, routing_of(topology, "d_mod_k"))
    assert tables.arrived == tables.pairs == topology.num_ranks * (topology.num_ranks - 1)
    assert np.allclose(tables.shifts * 50e9, 1)
    above = topology.link_class > 0
    assert np.ptp(tables.all_to_all[above & (topology.link_class == 1)]) < 1e-12


def test_shifts_are_those_of_each_alone() -> None:
    topology = load(f"fat_tree:2x3,spines=2,{LINKS}")
    routing = routing_of(topology, "shortest")
    found = routing_tables(topology, routing).shifts
    for shift in range(1, 6):
        pairs = np.array([(src, (src + shift) % 6) for src in range(6)], np.int32)
        carried = routing.paths(topology, pairs).link_bytes(np.ones(6), topology.num_links)
        assert found[shift - 1] == pytest.approx((carried / topology.bandwidth).max())


@pytest.mark.parametrize(
    ("spec", "routing", "code"),
    [
        (f"rlft:8,{LINKS}", "d_mod_k", ExitCode.DONE),
        (f"rlft:8,{LINKS}", "spray", ExitCode.DONE),
        (f"rlft:8,{LINKS}", "ecmp", ExitCode.CHECK_FAILED),
        (f"rlft:8,{LINKS}", "shortest", ExitCode.CHECK_FAILED),
        (f"torus:3x3,{LINKS}", "dimension_order", ExitCode.DONE),
        (f"torus:4x4,{LINKS}", "dimension_order", ExitCode.CHECK_FAILED),  # half-way around, all go clockwise
        (f"dragonfly:4x5,{LINKS}", "shortest", ExitCode.DONE),
        ("dgx-h100:nodes=4,fabric=rail,leaf=2,spines=4", "spray", ExitCode.DONE),
        ("dgx-h100:nodes=4,fabric=rail,leaf=2,spines=4", "d_mod_k", ExitCode.CHECK_FAILED),  # 2 ranks, 4 ways to them
        ("dgx-h100:nodes=8,fabric=rail,leaf=4,spines=4", "d_mod_k", ExitCode.DONE),
        (f"pgft:4x4x1x2x1x2,{LINKS}", "d_mod_k", ExitCode.DONE),
    ],
)
def test_balance_is_checked(spec: str, routing: str, code: ExitCode) -> None:
    result = hocket.topology_routes(spec, routing=routing, balanced=True)
    assert result.exit_code == code, result.summary()
    assert ("not balanced" in "".join(result.warnings)) == (code != ExitCode.DONE)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rlft:7", "an even number"),
        ("rlft:0", "an even number"),
        ("rlft:4x4", "an even number"),
        ("rlft:4,levels=0", "1 to 8 levels"),
        ("rlft:4,levels=9", "1 to 8 levels"),
        ("rlft:400,levels=3", "links are more than"),
        ("pgft:4x8", "3 numbers a level"),
        ("pgft:4x0x1x4x1x1", "3 numbers a level"),
        ("pgft:1x1x1", "2 ranks or more"),
        ("pgft:99999999x99999999x1x9999999x1x1", "links are more than"),
    ],
)
def test_what_is_none_is_refused(spec: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        load(f"{spec},{LINKS}")
