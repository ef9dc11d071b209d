"""Topology files: ours and ASTRA-sim's, read, written, and refused with the line at fault."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_topologies import topologies

from hocket.base.errors import HocketError, TopologyError
from hocket.simulator.installation import installation
from hocket.topology import Dimension, Topology, failures, load, save
from hocket.topology.machines.hosts import hosts_of

LINKS = """\
name: triangle
ranks: 3
links:
- {from: 0, to: 1, latency: 500ns, bandwidth: 50GB/s, both: true}
- {from: 1, to: 2, latency: 500ns, bandwidth: 50GiB/s, both: true}
- {from: 2, to: 0, latency: 1.5us, bandwidth: 400Gbit/s}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "net.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def assert_equal(one: Topology, other: Topology) -> None:
    assert one.fingerprint == other.fingerprint
    assert (one.name, one.dimensions, one.notes) == (other.name, other.dimensions, other.notes)
    assert one.in_network == other.in_network
    assert np.array_equal(one.machine, other.machine)


def test_links_are_numbered_in_file_order(tmp_path: Path) -> None:
    topology = load(write(tmp_path, LINKS))
    assert topology.name == "triangle"
    assert list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
        (2, 0),
    ]
    assert topology.bandwidth.tolist() == [50 * 10**9] * 2 + [50 * 2**30] * 2 + [50 * 10**9]
    assert topology.latency_ps.tolist() == [500_000] * 4 + [1_500_000]


def test_dimensions_and_spec_say_the_same(tmp_path: Path) -> None:
    entry = "{kind: mesh, size: 4, bandwidth: 50GB/s, latency: 500ns}"
    by_dimensions = load(write(tmp_path, f"dimensions: [{entry}, {entry}]"))
    by_spec = load(write(tmp_path, "name: net\nspec: 'mesh:4x4,bandwidth=50GB/s,latency=500ns'"))
    assert_equal(by_dimensions, by_spec)
    assert load(write(tmp_path, "spec: dgx-h100:nodes=2")).machine.tolist() == [0] * 8 + [1] * 8


def test_switches_can_compute(tmp_path: Path) -> None:
    star = "ranks: 2\nswitches: 2\nlinks:\n" + "".join(
        f"- {{from: {a}, to: {b}, latency: 1us, bandwidth: 1GB/s, both: true}}\n" for a, b in [(0, 2), (2, 3), (3, 1)]
    )
    assert load(write(tmp_path, star + "in_network: [3]\n")).in_network == (3,)
    with pytest.raises(
        HocketError, match=r"net.yaml:7: in_network: node 1 is no switch; switches are the nodes 2 to 3"
    ):
        load(write(tmp_path, star + "in_network: [1]\n"))
    by_dimensions = load("switch:4x2,bandwidth=50GB/s,latency=500ns,in_network=0+1")
    save(by_dimensions, tmp_path / "saved.yaml")
    assert "links:" not in (tmp_path / "saved.yaml").read_text(encoding="utf-8")
    assert_equal(load(str(tmp_path / "saved.yaml")), by_dimensions)


def test_machines_can_be_said(tmp_path: Path) -> None:
    assert load(write(tmp_path, LINKS + "machine: [0, 0, 1]\n")).machine.tolist() == [0, 0, 1]


@given(topologies())
@settings(max_examples=60)
def test_any_topology_comes_back_as_saved(tmp_path: Path, topology: Topology) -> None:
    save(topology, tmp_path / "net.yaml")
    assert_equal(load(str(tmp_path / "net.yaml")), topology)


@pytest.mark.parametrize(
    "spec",
    [
        "torus:4x4,bandwidth=50GB/s+12.5GiB/s,latency=1ps",
        "switch:8,bandwidth=1B/s,latency=0s",
        "ring:4xunwound_switch:8,degree=3,bandwidth=50/25GB/s,latency=500ns",
        "dragonfly:4x5,bandwidth=50/25GB/s,latency=500ns",
        "mi250",
        "dgx-a100:nodes=3,gpus=2",
    ],
)
def test_specs_come_back_as_saved(tmp_path: Path, spec: str) -> None:
    save(load(spec), tmp_path / "net.yaml")
    assert_equal(load(str(tmp_path / "net.yaml")), load(spec))


def test_a_product_that_lost_a_link_keeps_its_dimensions(tmp_path: Path) -> None:
    ring = load("ring:4,bandwidth=50GB/s,latency=500ns")
    links = [*zip(ring.src, ring.dst, ring.latency_ps, ring.bandwidth, strict=True)][1:]
    broken = Topology.from_links("broken", 4, links, dimensions=ring.dimensions)
    save(broken, tmp_path / "net.yaml")
    assert_equal(load(str(tmp_path / "net.yaml")), broken)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (LINKS.replace("500ns", "500"), 4, "latency: '500' is not a time with a unit"),
        (LINKS.replace("50GiB/s", "50"), 5, "bandwidth: '50' is not a bandwidth with a unit"),
        (LINKS.replace("400Gbit/s", "0GB/s"), 6, "must be positive"),
        (LINKS.replace("ranks: 3", "ranks: three"), 2, "ranks: Expected `int | null`"),
        (LINKS.replace("1.5us", "1.5us, speed: 3"), 6, "unknown key 'speed'"),
        (LINKS.replace("bandwidth: 400", "bandwith: 400"), 6, "unknown key 'bandwith'; did you mean 'bandwidth'?"),
        (LINKS + "ranks: 4\n", 7, "key 'ranks' was given on line 2 already"),
        (LINKS + "rank: 4\n", 7, "unknown key 'rank'; did you mean 'ranks'?"),
        (LINKS + "machine: [0, 1]\n", 7, "2 machines for 3 ranks"),
        (LINKS + "spec: dgx-h100\n", 7, "spec is the whole topology"),
        (LINKS + "dimensions: [{kind: ring, size: 4, latency: 1ns, bandwidth: 1GB/s}]\n", 7, "do not multiply to 3"),
        (LINKS.replace("ranks: 3\n", ""), 2, "links need 'ranks: N'"),
        ("spec: dgx-h100\nswitches: 2\n", 2, "switches need 'ranks: N'"),
        (LINKS.replace("to: 0, ", ""), 6, "missing required field `to`"),
        ("name: nothing\n", 1, "expected spec, machines, ranks with links, or dimensions"),
        ("name: &a x\nnotes: [*a]\nranks: 3\n", 2, "aliases"),
        ("name: [1\n", 2, "expected ',' or ']'"),
        ("name: x\n---\nname: y\n", 2, "a second YAML document"),
        ("name: x\n? [1]\n: 2\n", 2, "a key must be a plain word"),
        ("name: !!int x\n", 1, "invalid literal"),
        ("topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\nunits: GB\n", 5, "unknown key 'units'"),
        ("topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [50]\nlatency: [500]\n", 2, "one entry a dimension, 1"),
        ("topology: [Torus]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n", 1, "'Torus' is no kind"),
        ("topology: [Ring]\nnpus_count: [4]\nbandwidth: [0]\nlatency: [500]\n", 3, "> 0"),
        ("topology: [Ring]\nnpus_count: [4]\nbandwidth: [.nan]\nlatency: [500]\n", 3, "bandwidth"),
    ],
)
def test_refusals_name_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(HocketError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINKS.replace("ranks: 3", "ranks: 4"), "rank 0 cannot reach rank 3: add links"),
        (LINKS.replace("from: 2, to: 0", "from: 2, to: 7"), "link 4 (2 -> 7) leaves the nodes 0..2"),
        (LINKS.replace("from: 2, to: 0", "from: 2, to: 2"), "link 4 (2 -> 2) connects a node to itself"),
        ("topology: [Ring]\nnpus_count: [1]\nbandwidth: [50]\nlatency: [500]\n", "at least 2 ranks, got ring of 1"),
        ("spec: mesh:4x4\n", "latency is missing"),
    ],
)
def test_refusals_name_file_and_link(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(HocketError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@given(
    text=st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda at, cut, insert: (LINKS[:at] + insert + LINKS[at + cut :]).encode(),
            st.integers(0, len(LINKS)),
            st.integers(0, 30),
            st.text(alphabet="{}[]:,-&*!|>'\"#?@% \n\t0123456789abcdefu./\x00é", max_size=12),
        ),
    )
)
@settings(max_examples=200)
def test_any_bytes_are_a_topology_or_an_error_that_names_the_file(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "net.yaml"
    path.write_bytes(text)
    try:
        assert load(str(path)).num_ranks >= 2
    except HocketError as error:
        assert str(error).startswith(str(path))


def test_deep_nesting_is_an_error(tmp_path: Path) -> None:
    for opened in ("[" * 100_000, "{a: " * 100_000, "[" * 100 + "]" * 100):
        with pytest.raises(HocketError, match=r"net.yaml:1: nested too deeply, more than 100 levels"):
            load(write(tmp_path, "name: " + opened))


@pytest.mark.shared
def test_every_network_file_of_astra_sim_is_read(shared: Path) -> None:
    files = sorted(shared.glob("astra_sim/inputs/*/network.yml"))
    assert len(files) >= 10
    for path in files:
        topology = load(str(path))
        assert "2^30" in topology.notes[0]
        assert topology.num_ranks == np.prod([dimension.size for dimension in topology.dimensions])


@pytest.mark.shared
def test_astra_sim_units(shared: Path) -> None:
    # the file says [Ring, Switch], [2, 4], [200.0, 25.0] GB/s of 2^30, [100.0, 1000.0] ns
    topology = load(str(shared / "astra_sim/inputs/d_dp_unaware_RingxSwitch/network.yml"))
    assert topology.dimensions == (
        Dimension("ring", 2, latency_ps=100_000, bandwidth=200 * 2**30),
        Dimension("switch", 4, latency_ps=1_000_000, bandwidth=25 * 2**30),
    )
    # 4 lines of 2 ranks joined both ways, and 2 lines with a switch of 4 ports
    assert (topology.num_ranks, topology.num_nodes, topology.num_links) == (8, 10, 4 * 2 + 2 * 4 * 2)


def test_a_missing_switch_leaves_ranks_apart() -> None:
    apart = Topology.from_links("apart", 2, [(0, 2, 0, 1)], num_switches=1)
    with pytest.raises(TopologyError, match="rank 0 cannot reach rank 1"):
        from hocket._core.topology import require_connected

        require_connected(apart.graph)


@pytest.mark.parametrize("spec", ["dgx-h100:nodes=2", "dgx-h100:nodes=2,gpus=4,fabric=fat_tree,leaf=1", "dgx-1"])
def test_a_saved_topology_names_its_cluster(tmp_path: Path, spec: str) -> None:
    path = tmp_path / "net.yaml"
    save(load(spec), path)
    assert f"\ncluster: {spec}\n" in path.read_text()
    assert load(str(path)).cluster == (spec,)
    assert (hosts_of(str(path)).machine, hosts_of(str(path)).nodes) == (hosts_of(spec).machine, hosts_of(spec).nodes)
    assert installation(str(path)).accelerator is installation(spec).accelerator


def test_machines_of_a_file_are_its_cluster(tmp_path: Path) -> None:
    load(write(tmp_path, "machines: ['dgx-h100:nodes=2', dgx-h100]"))
    save(load(str(tmp_path / "net.yaml")), tmp_path / "saved.yaml")
    assert load(str(tmp_path / "saved.yaml")).cluster == ("dgx-h100:nodes=2", "dgx-h100")
    assert hosts_of(str(tmp_path / "saved.yaml")).ranks == 24


def test_what_failed_is_of_no_cluster() -> None:
    whole = load("dgx-h100:nodes=2")
    assert failures.without(whole, ["npu:3"]).cluster == ()
    assert failures.degrade(whole, ["nvlink=0.5"]).cluster == ("dgx-h100:nodes=2",)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("dgx-h100:nodes=2", "dgx-h100:nodes=2: 16 GPUs, but the file has 3 ranks: name the machines that they are"),
        ("[dgx-h100, dgx-a100]", "dgx-h100, dgx-a100: 16 GPUs, but the file has 3 ranks"),
        ("dgx-h10", "'dgx-h10': no such file, and no machine by that name"),
        ("'ring:3,bandwidth=1GB/s,latency=1ns'", "a graph alone"),
        ("net.yaml", "'net.yaml': no such file, and no machine by that name"),
    ],
)
def test_a_cluster_that_the_ranks_are_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, LINKS + f"cluster: {cluster}\n")
    with pytest.raises(HocketError) as error:
        load(path)
    assert f"{path}:7: " in str(error.value) and message in str(error.value)
    assert "remove cluster" in str(error_of(write(tmp_path, "spec: dgx-h100\ncluster: dgx-h100")))


def error_of(path: str) -> HocketError:
    with pytest.raises(HocketError) as error:
        load(path)
    return error.value
