"""What is left of a topology after failures, and how people are told."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from random_topologies import topologies

from hocket.base.errors import HocketError
from hocket.schedule import Collective, Kind, lower_bound
from hocket.topology import Topology, load
from hocket.topology.failures import degrade, without

MESH = "mesh:4x4,bandwidth=50GiB/s,latency=500ns"


def links(topology: Topology) -> set[tuple[int, int]]:
    return set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))


def test_the_rest_is_numbered_anew() -> None:
    rest = without(load(MESH), ["npu:7,9"])
    # 48 links; 7 is on the edge (three neighbours), 9 inside (four), and they are no neighbours
    assert (rest.num_ranks, rest.num_links) == (14, 48 - 2 * 3 - 2 * 4)
    assert rest.name == f"{MESH} without npu:7,9"
    assert rest.notes == ("numbered anew: rank 7 was 8, ranks 8-13 were 10-15",)
    assert rest.dimensions == ()
    # 12, now 10, had neighbours 8 (now 7) and 13 (now 11)
    assert {dst for src, dst in links(rest) if src == 10} == {7, 11}


def test_all_gather_around_failed_npus_has_the_published_bound() -> None:
    chunk = 2**30 // 14
    collective = Collective(Kind.ALL_GATHER, 14, 14 * chunk)
    bound = lower_bound(collective, without(load(MESH), ["npu:7", "npu:9"]), blocking=True)
    # 13 chunks through the one link that rank 3 and rank 13 have left: 13 x (chunk / 50 GiB/s + 0.5 us)
    assert bound.time_ps / 10**6 == pytest.approx(13 * (chunk / (50 * 2**30) * 10**6 + 0.5)) == 18577.928


def test_links_fail_both_ways_or_one() -> None:
    mesh = load(MESH)
    both, one = without(mesh, ["link:3-2,5-6"]), without(mesh, ["link:3->2"])
    assert links(mesh) - links(both) == {(3, 2), (2, 3), (5, 6), (6, 5)}
    assert links(mesh) - links(one) == {(3, 2)}
    assert both.dimensions == mesh.dimensions and both.notes == ()


def test_a_switch_fails() -> None:
    cluster = load("fat_tree:4x2,spines=2,bandwidth=50/100GB/s,latency=1us")  # leaves 8 and 9, spines 10 and 11
    rest = without(cluster, ["switch:10"])
    assert (rest.num_ranks, rest.num_nodes, rest.num_links) == (8, 11, cluster.num_links - 4)
    assert links(rest) >= {(8, 10), (10, 9)}  # the other spine
    computing = without(load("switch:4x2,bandwidth=1GB/s,latency=1us,in_network=1"), ["npu:0"])
    assert computing.in_network == (7, 8, 9, 10, 11, 12)


CLUSTER = "dgx-h100:nodes=4,fabric=fat_tree,leaf=2,spines=2"


@pytest.mark.parametrize(
    ("name", "as_numbers"),
    [
        ("gpu:1.3", "npu:11"),
        ("gpu:0.0,2.7", "npu:0,23"),
        ("nic:0.2", "switch:38"),  # after 32 GPUs and four NVSwitches
        ("switch:spine0", "switch:70"),
        ("link:leaf0-spine1", "link:68-71"),
        ("link:spine1->leaf0", "link:71->68"),
        ("link:nic0.2-leaf0", "link:38-68"),
        ("link:gpu1.3-47", "link:11-47"),
    ],
)
def test_parts_of_a_cluster_have_names(name: str, as_numbers: str) -> None:
    cluster = load(CLUSTER)
    one, other = without(cluster, [name]), without(cluster, [as_numbers])
    assert one.num_links < cluster.num_links
    assert one.fingerprint == other.fingerprint


def test_tiers_of_a_product_are_counted_from_its_ranks() -> None:
    tree = load("fat_tree:8x4,spines=4,bandwidth=50GiB/s,latency=500ns")
    rest = without(tree, ["link:leaf0-spine1", "switch:spine3"])
    assert tree.num_links - rest.num_links == 2 + 8


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "nic:0.9",
            "leaf=2,spines=2 has only NICs of node 0 0-7",
        ),
        ("gpu:4.0", "has only nodes 0-3"),
        ("switch:core0", "has no core switches"),
        ("link:leaf0-spine2", "has only spine switches 0-1"),
        ("nic:3", "nic:0.2 (machine, place in it)"),
    ],
)
def test_names_of_what_is_not_there(name: str, message: str) -> None:
    with pytest.raises(HocketError) as caught:
        without(load(CLUSTER), [name])
    assert message in str(caught.value)


def test_degraded_links_lose_bandwidth() -> None:
    mesh = load(MESH)
    weak = degrade(mesh, ["link:3->2=0.5", "npu:0=.25"])
    left = dict(zip(zip(weak.src.tolist(), weak.dst.tolist(), strict=True), weak.bandwidth.tolist(), strict=True))
    assert left[3, 2] == 25 * 2**30 and left[2, 3] == 50 * 2**30
    assert left[0, 1] == left[1, 0] == left[4, 0] == 50 * 2**30 // 4
    assert degrade(mesh, ["npu:0=0.5", "link:0-1=0.5"]).bandwidth[0] == 50 * 2**30 // 4


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        (["npu:16"], "has no node 16, only 0 to 15"),
        (["npu:3,x"], "'npu:3,x': expected npu:7,9 or switch:16 or link:3-4"),
        (["rank:3"], "expected npu:7,9"),
        (["link:3"], "expected npu:7,9"),
        (["switch:3"], "is an NPU, and it has no switches"),
        (["link:3-9"], "there is no link from rank 3 to rank 9; rank 3 has links to nodes 2,7"),
        (["npu:" + ",".join(map(str, range(15)))], "only rank 15 is left; it takes two"),
        (["npu:" + ",".join(map(str, range(16)))], "no rank is left; it takes two"),
        (["npu:1", "npu:4"], "falls apart: ranks 0 cannot get to ranks 2-3,5-15"),
        (["link:1->0,4->0"], "falls apart: ranks 0 cannot be reached from ranks 1-15"),
    ],
)
def test_refusals_name_what_there_is(failures: list[str], message: str) -> None:
    with pytest.raises(HocketError) as caught:
        without(load(MESH), failures)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("degradation", "message"),
    [
        ("link:3-2", "expected the part of the bandwidth that is left, as in link:3-4=0.5"),
        ("link:3-2=1.5", "expected the part"),
        ("link:3-2=0", "expected the part"),
        ("link:3-2=1e999999999", "expected the part"),
        ("link:3-9=0.5", "there is no link from rank 3 to rank 9"),
        ("npu:3=0.000000001", "nothing is left of rank"),
    ],
)
def test_refused_degradations(degradation: str, message: str) -> None:
    with pytest.raises(HocketError) as caught:
        degrade(load("mesh:4x4,bandwidth=1MB/s,latency=1us"), [degradation])
    assert message in str(caught.value)


@given(st.data(), topologies())
@settings(max_examples=150)
def test_what_is_left_is_the_same_network(data: st.DataObject, topology: Topology) -> None:
    gone = data.draw(st.sets(st.integers(0, topology.num_nodes - 1), max_size=3))
    failures = [f"{'npu' if node < topology.num_ranks else 'switch'}:{node}" for node in sorted(gone)]
    try:
        rest = without(topology, failures)
    except HocketError as error:
        assert "falls apart" in str(error) or "it takes two" in str(error)
        return
    old = np.array([node for node in range(topology.num_nodes) if node not in gone])
    assert sorted(zip(old[rest.src], old[rest.dst], rest.latency_ps, rest.bandwidth, strict=True)) == sorted(
        link
        for link in zip(topology.src, topology.dst, topology.latency_ps, topology.bandwidth, strict=True)
        if not gone & {int(link[0]), int(link[1])}
    )
    _ = rest.graph  # the engine checks every link
    assert {int(old[switch]) for switch in rest.in_network} == set(topology.in_network) - gone
    assert rest.machine.tolist() == topology.machine[old[old < topology.num_ranks]].tolist()


@given(st.text(alphabet="npulinkswtchgearof:->,=0123456789.", max_size=20))
def test_any_text_is_a_failure_or_an_error(text: str) -> None:
    mesh = load(MESH)
    for change in (without, degrade):
        try:
            change(mesh, [text])
        except HocketError as error:
            assert text in str(error)


def test_commands_take_failures(tmp_path: Path) -> None:
    problem = "synthesize", "all_gather", "-t", MESH, "-s", "14MiB"
    made = hocket(*problem, "--without", "npu:7,9", "--without", "link:0-1")
    assert made.returncode == 0, made.stderr
    assert "note: numbered anew: rank 7 was 8, ranks 8-13 were 10-15" in made.stdout
    assert "14 ranks" in made.stdout
    apart = hocket(*problem, "--without", "npu:1,4")
    assert apart.returncode == 3
    assert "ranks 0 cannot get to ranks 2-3,5-15" in apart.stderr
    output = str(tmp_path / "left.yaml")
    saved = hocket("topology", "save", MESH, "--without", "npu:5", "--degrade", "link:0-1=.5", "-o", output)
    assert saved.returncode == 0, saved.stderr
    assert load(output).num_ranks == 15
    shown = hocket("topology", "show", MESH, "--degrade", "link:0-1=.5")
    assert "2 x 26.84 GB/s" in shown.stdout
