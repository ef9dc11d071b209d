"""Routing tables and `hocket topology routes`."""

import csv
import json
from functools import partial
from pathlib import Path

import in_process
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_topologies import topologies

from hocket.topology import ROUTINGS, WHOLE_SHARE, Paths, Routes, Topology, load, routing_of
from hocket.topology.routing_tables import (
    has_loop,
    has_several_paths,
    has_single_spines,
    num_arrived,
    one_path_notes,
    routing_tables,
)

COST = "bandwidth=50GB/s,latency=500ns"
hocket = partial(in_process.hocket, "topology", "routes")


@settings(max_examples=100, deadline=None)
@given(topologies(), st.sampled_from([name for name in ROUTINGS if name != "dimension_order"]))
def test_tables_of_all_routings_lead_everywhere(topology: Topology, routing: str) -> None:
    chosen = routing_of(topology, routing)
    found = routing_tables(topology, chosen)
    ranks = topology.num_ranks
    assert found.pairs == found.arrived == ranks * (ranks - 1)
    assert found.looping == []
    # Whoever follows the tables from every rank brings all there, and loads links as the paths do.
    carried = np.zeros(topology.num_links)
    for dst in range(ranks):
        at = np.ones(topology.num_nodes) * (np.arange(topology.num_nodes) < ranks)
        at[dst] = 0
        of_dst = found.destination == dst
        arrived = 0.0
        for _ in range(topology.num_nodes):
            flow = at[found.node[of_dst]] * found.part[of_dst]
            np.add.at(carried, found.link[of_dst], flow)
            at = np.bincount(topology.dst[found.link[of_dst]], flow, minlength=topology.num_nodes)
            arrived, at[dst] = arrived + at[dst], 0
        assert arrived == pytest.approx(ranks - 1)
    assert carried / (ranks - 1) == pytest.approx(found.all_to_all)


def test_what_does_not_arrive_and_what_leads_around_is_seen() -> None:
    square = load(f"ring:4,{COST}")  # link 2r: to r + 1, link 2r + 1: to r - 1
    pairs = np.array([[0, 2], [1, 2], [3, 2], [0, 3]], np.int32)
    links = np.array([0, 2, 2, 4, 1], np.int32)  # the third starts elsewhere and ends there, too
    walks = Paths.single(Routes(np.array([0, 2, 3, 4, 5]), links))
    assert num_arrived(square, pairs, walks) == 2 + 1
    assert not has_loop(square, np.array([0, 2, 4]))
    assert has_loop(square, np.array([0, 2, 4, 6]))
    assert has_loop(square, np.array([0, 3, 4]))


def test_a_fat_tree_that_sprays_is_balanced_and_one_route_a_pair_is_not() -> None:
    tree = f"fat_tree:8x4,spines=8,{COST}"
    sprayed, single = hocket(tree), hocket(tree, "--routing", "shortest")
    assert sprayed.returncode == single.returncode == 0
    assert "992, all arrive, no loops" in sprayed.stdout
    # 24 of 31 of what a rank sends cross a spine: 0.774
    assert "spine      64 links, 0 idle, 77.4% to 77.4% busy" in sprayed.stdout
    assert "shift        50 GB/s per rank to rank + 16 fill" in sprayed.stdout
    # 8 ranks of a leaf share one spine of 50 GB/s; 56 of 64 links idle
    assert "shift        6.25 GB/s per rank to rank + 16 fill" in single.stdout
    assert "spine      64 links, 56 idle" in single.stdout


@pytest.mark.parametrize("routing", ["spray", "adaptive", "d_mod_k"])
def test_a_degraded_link_stays_in_use(routing: str) -> None:
    # Switches count hops. One of 8 spines' links has 99 %, and limits what is spread evenly: 0.99 * 50 GB/s.
    found = hocket(f"fat_tree:8x4,spines=8,{COST}", "--degrade", "link:32-38=0.99", "--routing", routing)
    assert "shift        49.5 GB/s per rank to rank + 16 fill" in found.stdout
    assert ("if spread evenly over its paths" in found.stdout) == (routing == "adaptive")


def test_dimension_order_keeps_degraded_links() -> None:
    # Half of link 0 - 1 is left: what goes around the ring of rank 0 takes it all the same.
    found = hocket(f"torus:4x4,{COST}", "--degrade", "link:0-1=0.5", "--routing", "dimension_order")
    assert found.returncode == 0
    assert "240, all arrive, no loops" in found.stdout


@pytest.mark.parametrize("routing", ["spray", "parallel"])
def test_unequal_parallel_links_share_by_bandwidth(routing: str) -> None:
    # 25 and 50 GB/s side by side: 1/3 and 2/3, 75 GB/s together.
    links = [(0, 2, 1000, 25 * 10**9), (0, 2, 1000, 50 * 10**9), (2, 1, 1000, 75 * 10**9), (1, 0, 1000, 10**9)]
    pair = Topology.from_links("pair", 2, links, num_switches=1, link_class=["nic", "nic", "switch", "back"])
    paths = routing_of(pair, routing).paths(pair, np.array([[0, 1]], np.int32))
    assert paths.links.tolist() == [0, 2, 1, 2]
    assert (paths.shares / WHOLE_SHARE).tolist() == pytest.approx([1 / 3, 2 / 3])
    assert paths.shares.sum() == WHOLE_SHARE


def test_d_mod_k_counts_the_ranks_of_a_leaf() -> None:
    # 16 machines of 8 rails; a leaf has one rail of 8 machines, so that ranks behind it are equal modulo 8. Counted
    # leaf by leaf they take all 8 spines: a shift by half of all ranks fills every link, and none twice.
    machines, rails, leaves, spines, links = 16, 8, 16, 8, []
    ranks = machines * rails
    for rank in range(ranks):
        leaf = ranks + rank % rails * 2 + rank // rails // 8
        links += [(rank, leaf, 500_000, 50 * 10**9), (leaf, rank, 500_000, 50 * 10**9)]
    for leaf in range(ranks, ranks + leaves):
        for spine in range(ranks + leaves, ranks + leaves + spines):
            links += [(leaf, spine, 500_000, 50 * 10**9), (spine, leaf, 500_000, 50 * 10**9)]
    rail_fabric = Topology.from_links("rails", ranks, links, num_switches=leaves + spines)
    found = routing_tables(rail_fabric, routing_of(rail_fabric, "d_mod_k"))
    assert found.shift.max() == found.shift.min() == pytest.approx(1)


def test_tables_of_ranks_are_printed_and_written(tmp_path: Path) -> None:
    tables, everything = tmp_path / "tables.csv", tmp_path / "all.json"
    done = hocket(f"ring:4,{COST}", "--routing", "spray", "--csv", str(tables), "--json", str(everything))
    assert done.returncode == 0, done.stderr
    assert "rank 0 to 2: over rank 1 (link 0), rank 3 (link 1)\n" in done.stdout
    rows = list(csv.DictReader(tables.read_text().splitlines()))
    assert rows[1] == {"node": "0", "destination": "2", "link": "0", "next": "1", "part": "0.5"}
    content = json.loads(everything.read_text())
    assert content["routing"] == "spray" and content["arrived"] == content["pairs"] == 12
    assert content["tables"]["part"] == [float(row["part"]) for row in rows]
    # half of what goes two ranks further goes either way round: a rank's links carry 2/3 each a byte, in all 1 + 1/3
    assert content["links"]["all_to_all"] == pytest.approx([2 / 3] * 8)
    assert content["balance"]["shift"]["bandwidth"] == pytest.approx(50e9)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([f"ring:4,{COST}", "--routing", "sprey"], "--routing: there is no routing 'sprey'"),
        (["dgx-h100", "--routing", "dimension_order"], "routing dimension_order is not for dgx-h100"),
        ([f"ring:4,{COST}", "--routing", "spray:seed=1"], "routing spray takes no options"),
    ],
)
def test_a_routing_that_is_none_is_one_clear_error(words: list[str], why: str) -> None:
    done = hocket(*words)
    assert done.returncode in (2, 3) and why in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("spec", "several", "single_spines"),
    [
        ("dgx-h100:nodes=8,fabric=fat_tree,leaf=2", False, True),
        ("dgx-h100:nodes=8,fabric=fat_tree,leaf=2,spines=4", True, False),
        ("dgx-h100:nodes=2,fabric=switch", False, False),
        ("switch:4,bandwidth=50GB/s,latency=500ns", False, False),
        ("ring:4,bandwidth=50GB/s,latency=500ns", True, False),  # both ways to the rank across
        ("ring:5,bandwidth=50GB/s,latency=500ns", False, False),
    ],
)
def test_where_routings_have_a_choice(spec: str, several: bool, single_spines: bool) -> None:
    topology = load(spec)
    assert (has_several_paths(topology), has_single_spines(topology)) == (several, single_spines)
    assert len(one_path_notes(topology)) == (not several)
    assert ("spines=N" in "".join(one_path_notes(topology))) == single_spines
