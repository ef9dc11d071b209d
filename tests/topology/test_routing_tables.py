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

from hocket.topology import ROUTINGS, Paths, Routes, Topology, load, routing_of
from hocket.topology.routing_tables import has_loop, num_arrived, routing_tables

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
    assert "shift        50 GB/s a rank to rank + 16 fill" in sprayed.stdout
    # 8 ranks of a leaf share one spine of 50 GB/s; 56 of 64 links idle
    assert "shift        6.25 GB/s a rank to rank + 16 fill" in single.stdout
    assert "spine      64 links, 56 idle" in single.stdout


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
