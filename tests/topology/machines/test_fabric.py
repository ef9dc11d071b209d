"""How machines are joined: the same for presets and imported machines."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.topology import Topology, load
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.fabric import Fabric, FabricKind, Port, read_fabric
from hocket.topology.machines.hosts import hosts_of
from hocket.topology.machines.nccl_presets import nccl_preset

GB = 10**9


def fabric_links(topology: Topology) -> dict[float, int]:
    """How many links of the fabric have how many GB/s."""
    of = topology.link_class == topology.classes.index("fabric")
    widths, counts = np.unique(topology.bandwidth[of], return_counts=True)
    return {width / GB: count for width, count in zip(widths.tolist(), counts.tolist(), strict=True)}


@pytest.mark.parametrize(
    ("keys", "switches", "links"),
    [
        # 8 machines x 8 NICs of 50 GB/s: 128 links to them; 8 leaves of 8 NICs, 400 GB/s up each
        ("", 9, {50.0: 128, 400.0: 16}),
        ("fabric=rail_only", 8, {50.0: 128}),
        ("oversubscription=2", 9, {50.0: 128, 200.0: 16}),
        # a leaf a rail and 4 machines: 16 of them, 200 GB/s up each
        ("leaf=4", 17, {50.0: 128, 200.0: 32}),
        # and a spine for each 4 machines, which go up by what comes in, 8 x 200 GB/s over 2
        ("leaf=4,pod=4,oversubscription=1/2", 16 + 2 + 1, {50.0: 128, 200.0: 32, 800.0: 4}),
        # 2 machines on a leaf: 4 leaves of 16 NICs, 800 GB/s over 4 up
        ("fabric=fat_tree,leaf=2,oversubscription=4", 5, {50.0: 128, 200.0: 8}),
        ("fabric=fat_tree,leaf=2,pod=4", 4 + 2 + 1, {50.0: 128, 800.0: 8, 1600.0: 4}),
        ("fabric=switch", 1, {50.0: 128}),
        # the 800 GB/s of each of 4 leaves to 16 spines, the 400 of 8 to 4
        ("fabric=fat_tree,leaf=2,spines=16", 4 + 16, {50.0: 128 + 2 * 4 * 16}),
        ("spines=4", 8 + 4, {50.0: 128, 100.0: 2 * 8 * 4}),
        # 4 spines in each of two pods, and spine k of both under core k, with a quarter of 1,600 GB/s
        ("fabric=fat_tree,leaf=2,pod=4,spines=4", 4 + 8 + 4, {50.0: 128, 200.0: 2 * 4 * 4, 400.0: 2 * 8}),
        # two NICs per rail, of the last four none: 2 leaves of 16 NICs
        ("rails=0/0/1/1/-/-/-/-", 3, {50.0: 64, 800.0: 4}),
    ],
)
def test_fabrics(keys: str, switches: int, links: dict[float, int], tmp_path: Path) -> None:
    of_preset = load(f"dgx-h100:nodes=8,{keys}".rstrip(","))
    nics = 64
    assert of_preset.num_nodes == 64 + 8 + nics + switches
    assert fabric_links(of_preset) == links
    assert load(of_preset.name).fingerprint == of_preset.fingerprint
    (tmp_path / "machine.xml").write_text(topology_text(nccl_preset("dgx-h100")))
    imported = load(f"nccl:{tmp_path}/machine.xml,nodes=8,{keys}".rstrip(","))
    assert fabric_links(imported) == links


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("fabric=fat-tree", "fabric=fat-tree: no such fabric; did you mean 'fat_tree'"),
        ("fabric=fat_tree", "fat_tree needs leaf=N"),
        ("fabric=switch,leaf=2", "fabric=switch has one tier: drop leaf"),
        ("leaf=4,pod=6", "pod=6: expected a multiple of leaf=4"),
        ("oversubscription=0.5", "1 or more"),
        ("oversubscription=2GB/s", "oversubscription=2GB: expected what comes from below over what goes up"),
        ("oversubscription=2/2", "oversubscription has 2 values: expected one for the leaves"),
        ("rails=0/1", "rails has 2 values for the 8 NICs of a machine"),
        ("rails=-/-/-/-/-/-/-/-", "no NIC of any machine is on the fabric"),
        ("fabric=rail_only,spines=2", "fabric=rail_only has one tier: drop spines"),
        ("spines=0", "spines=0: expected a whole number, 1 or more"),
        ("spines=3", "spines=3: 100GB/s that go up are not 3 times whole bytes/s: take another number of spines"),
        ("leaf=0", "leaf=0: expected a whole number, 1 or more"),
        ("rails=a/b", "rails=a: expected a whole number"),
    ],
)
def test_what_no_fabric_is(keys: str, message: str) -> None:
    with pytest.raises(HocketError, match=message):
        load(f"dgx-h100:nodes=2,{keys}")


@settings(max_examples=60)
@given(
    st.sampled_from(FabricKind), st.integers(0, 4), st.integers(0, 3), st.integers(1, 5), st.integers(1, 9),
    st.integers(1, 4), st.integers(0, 3),
)  # fmt: skip
def test_what_comes_in_goes_up_over_the_ratio(
    kind: FabricKind, leaf: int, pods: int, ratio: int, machines: int, rails: int, spines: int
) -> None:
    tiered = kind in (FabricKind.RAIL, FabricKind.FAT_TREE)
    leaf = max(1, leaf) if kind == FabricKind.FAT_TREE else leaf * tiered
    pod = leaf * pods if tiered else 0
    spines *= tiered
    fabric = Fabric(kind, leaf, pod, spines, (Fraction(ratio),) if tiered else ())
    ports = [Port(machine, rail, 60 * GB) for machine in range(machines) for rail in range(rails)]
    plan = fabric.plan(ports)
    into = [0] * plan.switches
    for port, at in zip(ports, plan.leaf, strict=True):
        into[at] += port.bandwidth
    leaves = sum(width > 0 for width in into)
    assert leaves == 1 + max(plan.leaf)
    if tiered:
        for lower, upper, width in plan.trunks:
            # of a leaf the part of each spine; a spine goes up to one core
            assert width * (ratio * max(1, spines) if lower < leaves else 1) == into[lower]
            into[upper] += width
    # everything that is joined has one root, or the spines of one number
    roots = set(range(plan.switches)) - {lower for lower, _, _ in plan.trunks}
    one_tier = 1 if kind == FabricKind.SWITCH or leaves == 1 else rails
    assert len(roots) == (max(1, spines) if plan.trunks else one_tier)
    assert plan.has_choice == (spines > 1 and bool(plan.trunks))


def test_fabrics_of_several_spines_spray(tmp_path: Path) -> None:
    assert load("dgx-h100:nodes=8,fabric=fat_tree,leaf=2,spines=16").routing == "spray"
    for no_choice in ("nodes=8,fabric=fat_tree,leaf=2", "nodes=8,spines=1", "nodes=2,fabric=fat_tree,leaf=2,spines=2",
                      "nodes=1,spines=2"):  # fmt: skip
        assert load(f"dgx-h100:{no_choice}").routing == "shortest"
    (tmp_path / "mixed.yaml").write_text("machines: ['dgx-h100:nodes=2', 'dgx-b200:nodes=2']\nfabric: spines=2\n")
    assert load(str(tmp_path / "mixed.yaml")).routing == "spray"


def test_nccl_sees_the_same_machines_whatever_the_spines() -> None:
    one, several = (hosts_of(f"dgx-h100:nodes=4{keys}") for keys in ("", ",spines=4"))
    assert (one.machine, one.nodes, one.domain) == (several.machine, several.nodes, several.domain)


@given(st.dictionaries(st.sampled_from(["fabric", "leaf", "pod", "spines", "oversubscription", "rails"]),
                       st.text(alphabet="0123456789/+-.:railfttswhcdoyun_e ", max_size=12)))  # fmt: skip
def test_any_text_is_a_fabric_or_refused(options: dict[str, str]) -> None:
    try:
        fabric = read_fabric(options)
    except HocketError as error:
        assert str(error)
    else:
        assert read_fabric(dict(part.split("=") for part in str(fabric).split(",") if part)) == fabric


def test_machines_of_several_kinds(tmp_path: Path) -> None:
    (tmp_path / "old.xml").write_text(topology_text(nccl_preset("dgx-a100")))
    (tmp_path / "mixed.yaml").write_text(
        f"machines:\n- dgx-h100:nodes=2\n- nccl:{tmp_path}/old.xml\n- p4d\nfabric: oversubscription=2\n"
    )
    mixed = load(str(tmp_path / "mixed.yaml"))
    assert mixed.machine.tolist() == [0] * 8 + [1] * 8 + [2] * 8 + [3] * 8
    # on rails 0-3 NICs of 50, 50, 25 and 12.5 GB/s, half of which goes up; on rails 4-7 none of p4d's four
    assert fabric_links(mixed) == {50.0: 32, 25.0: 16, 12.5: 8, 68.75: 8, 62.5: 8}
    for text, message in (
        ("machines: [dgx-h900]\n", "machine 'dgx-h900': no machine 'dgx-h900'; did you mean"),
        ("machines: ['dgx-h100:leaf=2']\n", "unknown key 'leaf'"),
        ("machines: [dgx-h100]\nspec: dgx-1\n", "spec is the whole topology: remove ranks, links and dimensions and"),
        ("machines: [dgx-h100]\nranks: 4\n", "machines is the whole topology: remove ranks, links"),
        ("fabric: leaf=2\nspec: dgx-1\n", "fabric joins 'machines: "),
    ):
        (tmp_path / "wrong.yaml").write_text(text)
        with pytest.raises(HocketError, match=message):
            load(str(tmp_path / "wrong.yaml"))
