"""Pictures of topologies: what is drawn, how often, and within the picture."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from in_process import hocket

from hocket.base.errors import Infeasible
from hocket.report.node_names import NodeNames
from hocket.report.topology_parts import Role, parts_of
from hocket.report.topology_picture import draw_topology
from hocket.topology import load
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.nccl_presets import nccl_preset
from hocket.topology.machines.presets import PRESETS

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", PRESETS)
def test_every_part_is_in_the_picture_once(name: str) -> None:
    topology = load(f"{name}:nodes=3")
    svg = draw_topology(topology)
    root, found = ElementTree.fromstring(svg), words(svg)
    gpus = topology.num_ranks // 3
    assert any("machines 0-2: 3 alike, machine 0 drawn" in text for text in found)
    narrow = gpus > 16
    assert sum(text == ("71" if narrow else f"GPU {gpus - 1}") for text in found) == (2 if narrow else 1)  # a NIC 71
    assert not any(text == f"GPU {gpus}" for text in found)
    wide, high = float(root.get("width", "0")), float(root.get("height", "0"))
    for box in root.iter(f"{SVG}rect"):
        x, y, width, height = (float(box.get(key, "0")) for key in ("x", "y", "width", "height"))
        assert min(x, y) >= 0, box.attrib
        assert x + width <= wide, box.attrib
        assert y + height <= high, box.attrib
        assert width > 0, box.attrib


def test_machines_of_32_are_drawn_once_and_their_bandwidths_named() -> None:
    found = words(draw_topology(load("dgx-h100:nodes=32")))
    assert sum(text.startswith("GPU ") for text in found) == 8
    assert [text for text in found if text.startswith("leaf ")] == [f"leaf {rail}" for rail in range(8)]
    assert found.count("32 down") == 8  # a port a machine
    assert {"nvlink 450 GB/s", "pcie 57.6 GB/s", "fabric 50 GB/s", "fabric 1.6 TB/s"} <= set(found)
    many = words(draw_topology(load("dgx-b200:nodes=64,leaf=16,pod=32")))
    assert sum(text.startswith("leaf ") for text in many) == 8  # machine 0's; 8 rails x 4 leaves in all
    assert "+ 24" in many
    assert {"spine 0", "spine 1", "core"} <= set(many)


def test_an_imported_machine_has_its_pci_tree(tmp_path: Path) -> None:
    (tmp_path / "machine.xml").write_text(topology_text(nccl_preset("dgx-a100")))
    topology = load(f"nccl:{tmp_path}/machine.xml,nodes=2")
    parts = parts_of(topology)
    counts = {role: len(parts.nodes(1, role)) for role in Role}
    assert counts == {Role.GPU: 8, Role.NVSWITCH: 1, Role.PCI: 4, Role.CPU: 4, Role.NIC: 8, Role.FABRIC: 0}
    found = words(draw_topology(topology))
    assert [found.count(text) for text in ("CPU", "PCI", "NVSwitch", "NIC 7")] == [4, 4, 1, 1]


def test_the_only_cpu_of_a_machine_is_no_nic(tmp_path: Path) -> None:
    matrix = "\tGPU0\tGPU1\tmlx5_0\nGPU0\tX\tNV12\tPIX\nGPU1\tNV12\tX\tPIX\nmlx5_0\tPIX\tPIX\tX\n"
    (tmp_path / "topo.txt").write_text(matrix)
    for nodes in (1, 2):
        topology = load(f"smi:{tmp_path}/topo.txt,gpu=a100,cpu=amd,nic=200Gbit/s,nodes={nodes}")
        parts = parts_of(topology)
        assert [len(parts.nodes(0, role)) for role in (Role.GPU, Role.PCI, Role.CPU, Role.NIC)] == [2, 1, 1, 1]
    root = ElementTree.fromstring(draw_topology(topology))
    name = next(text for text in root.iter(f"{SVG}text") if (text.text or "").startswith("machines 0-1: 2 alike"))
    frame = root.find(f"{SVG}rect")  # the machine's, behind all
    assert frame is not None
    assert float(frame.get("width", "0")) > 7 * len(name.text or "")


def test_the_command_draws(tmp_path: Path) -> None:
    done = hocket("topology", "show", "dgx-1", "-o", tmp_path / "picture.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"wrote {tmp_path}/picture.html\n")
    text = (tmp_path / "picture.html").read_text()
    # 16 pairs, each an arc
    assert len(re.findall(r'<path d="M\d+ \d+ C', text)) == 16
    wrong = hocket("topology", "show", "dgx-1", "-o", tmp_path / "picture.png")
    assert wrong.returncode == 2
    assert "an .svg or an .html" in wrong.stderr


def test_what_cannot_be_seen_is_refused() -> None:
    with pytest.raises(Infeasible, match="a machine of 1024 GPUs has no picture: at most 512"):
        draw_topology(load("switch:1024,bandwidth=50GB/s,latency=500ns"))
    with pytest.raises(Infeasible, match="4096 ranks without switches have no picture: at most 1200"):
        draw_topology(load("mesh:64x64,bandwidth=50GB/s,latency=500ns"))


@pytest.mark.parametrize(
    ("spec", "columns", "rows"),
    [("mesh:6", 6, 1), ("mesh:4x3", 4, 3), ("torus:32x32", 32, 32), ("ring:8", 5, 5)],
)
def test_ranks_without_switches_are_drawn_as_their_shape(spec: str, columns: int, rows: int) -> None:
    topology = load(f"{spec},bandwidth=50GB/s,latency=500ns")
    root = ElementTree.fromstring(draw_topology(topology))
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == topology.num_ranks
    for key, places in (("cx", columns), ("cy", rows)):
        assert len({circle.get(key) for circle in circles}) == places
    pairs = {frozenset(ends) for ends in zip(topology.src.tolist(), topology.dst.tolist(), strict=True)}
    legend = max(len(topology.dimensions), 1)
    assert len(list(root.iter(f"{SVG}path"))) == len(pairs) + legend


def test_a_switch_of_no_class_is_a_switch_in_pictures_and_names() -> None:
    topology = load("switch:4,bandwidth=50GB/s,latency=1us")
    assert "switch" in words(draw_topology(topology))
    assert NodeNames(topology).link(0) == "rank 0 → switch (dimension 0)"
    cluster = NodeNames(load("dgx-h100:nodes=2"))
    assert {"NVSwitch of node 1", "NIC 7 of node 0", "leaf 0", "spine"} <= set(cluster.names)
