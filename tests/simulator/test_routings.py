"""Messages on the paths that a routing gives them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import TopologyError
from hocket.chakra import TraceBuilder, TraceSet
from hocket.schedule import NAMED_KINDS, Collective, Kind
from hocket.simulator import Fidelity, Prediction, simulate_collective, simulate_traces
from hocket.topology import ROUTINGS, WHOLE_SHARE, Topology, load, read_routing, routing_of, save

FAT_TREE = "fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
EVERYWHERE = [name for name in ROUTINGS if name != "dimension_order"]


def simulated(topology: Topology, kind: Kind, size: int, routing: str, model: str = "congestion") -> Prediction:
    collective = Collective(kind, topology.num_ranks, size)
    return simulate_collective(collective, topology, "direct", fidelity=Fidelity(model, routing=routing))


@st.composite
def fabrics(draw: st.DrawFn) -> Topology:
    """Ranks with one to three equal links to leaves, and leaves to all spines; some links are slower."""
    members, leaves, spines = draw(st.integers(1, 3)), draw(st.integers(2, 3)), draw(st.integers(1, 4))
    ranks, fast = members * leaves, draw(st.sampled_from([10**9, 7 * 10**9]))
    links = []
    for rank in range(ranks):
        for _ in range(draw(st.integers(1, 3))):
            links += [(rank, ranks + rank // members, 1000, fast), (ranks + rank // members, rank, 1000, fast)]
    for leaf in range(ranks, ranks + leaves):
        for spine in range(ranks + leaves, ranks + leaves + spines):
            width = draw(st.sampled_from([fast, fast, fast // 2]))
            links += [(leaf, spine, 500, width), (spine, leaf, 500, width)]
    return Topology.from_links("fabric", ranks, links, num_switches=leaves + spines)


@settings(max_examples=150, deadline=None)
@given(
    fabrics(),
    st.sampled_from(EVERYWHERE),
    st.sampled_from(list(NAMED_KINDS)),
    st.integers(0, 10**6),
    st.sampled_from(["analytical", "congestion", "flow"]),
    st.sampled_from(["cut_through", "store_and_forward"]),
)
def test_no_routing_is_below_the_bound(
    topology: Topology, routing: str, kind: Kind, size: int, model: str, switching: str
) -> None:
    collective = Collective(Kind(kind), topology.num_ranks, size)
    fidelity = Fidelity(model, switching, routing=routing)
    prediction = simulate_collective(collective, topology, "direct", fidelity=fidelity)
    assert not prediction.below_bound
    assert prediction.time_ps >= prediction.bound_ps
    assert prediction.routing == routing


@pytest.mark.parametrize("model", ["congestion", "flow"])
def test_spray_fills_a_fat_tree_that_does_not_block(model: str) -> None:
    tree = load(FAT_TREE)
    sprayed = simulated(tree, Kind.ALL_TO_ALL, 64 << 20, "spray", model)
    assert sprayed.time_ps < 1.01 * sprayed.bound_ps
    # One route a pair leaves seven spines of eight idle: 24 of 31 blocks per rank cross them, 8 ranks a leaf.
    assert simulated(tree, Kind.ALL_TO_ALL, 64 << 20, "shortest", model).time_ps > 6 * sprayed.bound_ps


def test_parallel_links_are_used_together() -> None:
    # 2 MB over two links of 1 GB/s with 1 us each: 1 ms and 1 us; over one of them 2 ms and 1 us.
    links = [(0, 1, 10**6, 10**9)] * 2 + [(1, 0, 10**6, 10**9)] * 2
    pair = Topology.from_links("pair", 2, links)
    for model in ("congestion", "flow"):
        assert simulated(pair, Kind.BROADCAST, 2_000_000, "parallel", model).time_ps == 10**9 + 10**6
        assert simulated(pair, Kind.BROADCAST, 2_000_000, "shortest", model).time_ps == 2 * 10**9 + 10**6


def test_a_message_in_parts_weighs_as_much_as_a_whole_one() -> None:
    # 0 sends 64 MiB each to 1, on its leaf, over one path, and to 8, on another, over eight: both get half of its link.
    # 2 * 64 MiB / 50 GB/s = 2684.35456 us, and 500 ns a link: 2 of them, and 4.
    tree, builders = load(FAT_TREE), [TraceBuilder() for _ in range(32)]
    for tag, dst in enumerate((1, 8)):
        builders[0].add_send("send", 64 << 20, src=0, dst=dst, tag=tag)
        builders[dst].add_recv("recv", 64 << 20, src=0, dst=dst, tag=tag)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    for routing in ("shortest", "spray"):
        done = simulate_traces(traces, tree, fidelity=Fidelity("flow", routing=routing)).node_finish_ps
        assert sorted(set(done.tolist())) == [2_684_354_560 + 1_000_000, 2_684_354_560 + 2_000_000], routing


def test_every_byte_is_on_a_link_once() -> None:
    tree = load("fat_tree:3x3,spines=5,bandwidth=50GB/s,latency=500ns")
    expected = simulated(tree, Kind.ALL_TO_ALL, 9 * 1001, "shortest").link_bytes
    for routing in EVERYWHERE:
        carried = simulated(tree, Kind.ALL_TO_ALL, 9 * 1001, routing).link_bytes
        for name in ("leaf", "spine"):
            of_class = tree.link_class == tree.classes.index(name)
            assert carried[of_class].sum() == expected[of_class].sum()


def test_shares_are_whole_and_paths_lead_from_end_to_end() -> None:
    tree = load("fat_tree:2x3,spines=3,bandwidth=50GB/s,latency=500ns")
    pairs = np.array([(a, b) for a in range(6) for b in range(6) if a != b], np.int32)
    for name in EVERYWHERE:
        paths = routing_of(tree, name).paths(tree, pairs)
        share = np.add.reduceat(paths.shares, paths.first[:-1])
        assert (share == WHOLE_SHARE).all()
        pair = np.repeat(np.arange(len(pairs)), paths.counts)
        assert (tree.src[paths.links[paths.link_offset[:-1]]] == pairs[pair, 0]).all()
        assert (tree.dst[paths.links[paths.link_offset[1:] - 1]] == pairs[pair, 1]).all()
        inner = np.setdiff1d(np.arange(1, len(paths.links)), paths.link_offset)
        assert (tree.dst[paths.links[inner - 1]] == tree.src[paths.links[inner]]).all()


def test_seeds_hash_otherwise_and_again_the_same() -> None:
    tree = load(FAT_TREE)
    times = [simulated(tree, Kind.ALL_TO_ALL, 1 << 20, f"ecmp:seed={seed}").time_ps for seed in (0, 1, 2, 1)]
    assert times[1] == times[3]
    assert len(set(times)) > 1


@pytest.mark.parametrize("routing", [name for name in ROUTINGS if name != "ecmp"])
@pytest.mark.parametrize("name", ["torus:4x4", "ring:6", "switch:8", "mesh:3x3"])
def test_folding_changes_nothing(name: str, routing: str) -> None:
    topology = load(f"{name},bandwidth=50GB/s,latency=500ns")
    collective = Collective(Kind.ALL_TO_ALL, topology.num_ranks, 1 << 20)
    for model in ("congestion", "flow"):
        both = [
            simulate_collective(collective, topology, "direct", fidelity=Fidelity(model, routing=routing, fold=fold))
            for fold in (True, False)
        ]
        assert both[0].time_ps == both[1].time_ps
        assert (both[0].link_bytes == both[1].link_bytes).all()


def test_what_is_no_routing() -> None:
    with pytest.raises(TopologyError, match="there is no routing 'spary'; did you mean 'spray'"):
        read_routing("spary")
    with pytest.raises(TopologyError, match="routing spray takes no options; ecmp takes seed=N"):
        read_routing("spray:seed=3")
    with pytest.raises(TopologyError, match="'ecmp:7': expected ecmp:seed=N"):
        read_routing("ecmp:7")
    with pytest.raises(TopologyError, match=r"routing dimension_order is not for fat_tree.*it has no dimensions"):
        routing_of(load(FAT_TREE), "dimension_order")


def test_fat_trees_spray_unless_told_otherwise(tmp_path: Path) -> None:
    tree, collective = load(FAT_TREE), Collective(Kind.ALL_TO_ALL, 32, 1 << 20)
    prediction = simulate_collective(collective, tree, "direct")
    assert prediction.routing == "spray"
    assert prediction.time_ps == simulated(tree, Kind.ALL_TO_ALL, 1 << 20, "spray").time_ps
    save(tree, tmp_path / "tree.yaml")
    assert load(str(tmp_path / "tree.yaml")).routing == "spray"
    (tmp_path / "static.yaml").write_text((tmp_path / "tree.yaml").read_text().replace("spray", "d_mod_k"))
    static = simulate_collective(collective, load(str(tmp_path / "static.yaml")), "direct")
    assert static.routing == "d_mod_k"
