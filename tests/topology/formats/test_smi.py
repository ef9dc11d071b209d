"""`nvidia-smi topo -m`: the forms that it was seen to print on machines of several generations."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.nccl import NcclModel
from hocket.topology import load
from hocket.topology.formats.nccl.machine import LinkTarget, NcclMachine
from hocket.topology.machines.loading import load_machine
from hocket.topology.machines.records import MACHINES

GB = 10**9
H100 = "gpu=h100,cpu=sapphire_rapids,nic=400Gbit/s"


def matrix(gpus: int, nics: int, cell: Callable[[str, str], str], place: Callable[[int], str], names: bool) -> str:
    """Tab-separated as nvidia-smi prints it, NICs by name or as NIC0 with a legend."""
    devices = [f"GPU{gpu}" for gpu in range(gpus)]
    devices += [f"mlx5_{nic}" if names else f"NIC{nic}" for nic in range(nics)]
    head = "CPU Affinity" if names else "CPU Affinity\tNUMA Affinity\tGPU NUMA ID"
    lines = ["\t\x1b[4m" + "\t".join([*devices, head]) + "\x1b[0m"]
    for at, one in enumerate(devices):
        cells = [" X " if one == other else cell(one, other) for other in devices]
        lines.append("\t".join([one, *cells, *([place(at)] if at < gpus else [])]))
    legend = ["", "Legend:", "", "  X    = Self", "  NV#  = Connection traversing a bonded set of # NVLinks"]
    if nics and not names:
        legend += ["", "NIC Legend:", "", *[f"  NIC{nic}: mlx5_{nic}" for nic in range(nics)]]
    return "\n".join(lines + legend) + "\n"


def hgx(near: str = "PIX") -> str:
    """Eight H100, NV18, the NIC of each behind its switch; GPUs 0-3 and their NICs in NUMA node 0."""

    def cell(one: str, other: str) -> str:
        first, second = int(one[3:]), int(other[3:])
        if one[:3] == other[:3] == "GPU":
            return "NV18"
        return near if first == second else "NODE" if first // 4 == second // 4 else "SYS"

    return matrix(8, 8, cell, lambda gpu: f"0-63,128-191\t{gpu // 4}\t\tN/A", names=False)


def dgx_1() -> str:
    """Eight V100 in a cube mesh, two GPUs and a NIC behind each of four switches; the form of old drivers."""
    pairs = MACHINES["dgx-1"].pairs

    def group(device: str) -> int:
        return int(device[3:]) // 2 if device.startswith("GPU") else int(device[5:])

    def cell(one: str, other: str) -> str:
        first, second = (int(device.removeprefix("GPU").removeprefix("mlx5_")) for device in (one, other))
        if one[0] == other[0] == "G" and (links := pairs.get((min(first, second), max(first, second)))):
            return f"NV{links}"
        if group(one) == group(other):
            return "PIX"
        return "PHB" if group(one) // 2 == group(other) // 2 else "SYS"

    return matrix(8, 4, cell, lambda gpu: "0-19,40-59" if gpu < 4 else "20-39,60-79", names=True)


def read(folder: Path, text: str, keys: str) -> NcclMachine:
    (folder / "topo.txt").write_text(text, encoding="utf-8")
    return load_machine(f"smi:{folder}/topo.txt,{keys}")


def test_an_nvswitch_machine_is_the_preset(tmp_path: Path) -> None:
    """What NCCL would find on it is what it finds on the preset of such a machine."""
    machine = read(tmp_path, hgx(), H100)
    assert [net.name for net in machine.nets()] == [f"mlx5_{nic}" for nic in range(8)]
    assert all(gpu.nvlinks[0].to == LinkTarget.SWITCH for _, gpu in machine.gpus())
    for nodes in (1, 2):
        one, other = NcclModel(machine, nodes), NcclModel(load_machine("dgx-h100"), nodes)
        assert one.choose("AllReduce", [2**20, 2**30]).time_us.tolist() == (
            other.choose("AllReduce", [2**20, 2**30]).time_us.tolist()
        )
    two = load(f"smi:{tmp_path}/topo.txt,{H100},nodes=2,nvls=1,fabric=switch")
    # 16 GPUs, of each machine an NVSwitch, 8 PCI switches, 8 NICs, 2 CPUs, and one switch
    assert (two.num_ranks, two.num_nodes, len(two.in_network)) == (16, 16 + 2 * 19 + 1, 2)


def test_gpus_that_nccl_has_no_constants_for_are_said(tmp_path: Path) -> None:
    notes = read(tmp_path, hgx(), H100.replace("h100", "rubin")).notes
    assert [note.partition(":")[0] for note in notes] == ["GPUs of sm 107"]


def test_pxb_is_two_switches(tmp_path: Path) -> None:
    machine = read(tmp_path, hgx("PXB"), H100)
    bridge = machine.cpus[0].children[0]
    assert [len(lower.pcis) for lower in bridge.pcis] == [1, 1]  # type: ignore[union-attr]  # a Pci, not a Nic


def test_a_cube_mesh_of_old_drivers(tmp_path: Path) -> None:
    machine = read(tmp_path, dgx_1(), "gpu=v100,cpu=broadwell,nic=100Gbit/s")
    assert [len(cpu.children) for cpu in machine.cpus] == [2, 2]
    assert [sum(link.count for link in gpu.nvlinks) for _, gpu in machine.gpus()] == [6] * 8
    one, other = NcclModel(machine, 2), NcclModel(load_machine("dgx-1"), 2)
    assert one.choose("AllReduce", [2**30]).time_us.tolist() == other.choose("AllReduce", [2**30]).time_us.tolist()


def test_pairs_and_boxes_without_nvlink(tmp_path: Path) -> None:
    # two bridged pairs, each GPU in a NUMA node of its own
    bridged = "\n".join(
        [
            "        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity   GPU NUMA ID",
            "GPU0     X      NV4     SYS     SYS     0-23            0               N/A",
            "GPU1    NV4      X      SYS     SYS     24-47           1               N/A",
            "GPU2    SYS     SYS      X      NV4     48-71           2               N/A",
            "GPU3    SYS     SYS     NV4      X      72-95           3               N/A",
        ]
    )
    machine = read(tmp_path, bridged, "gpu=a6000,cpu=amd")
    assert len(machine.cpus) == 4
    assert [link.target for _, gpu in machine.gpus() for link in gpu.nvlinks] == [
        pci.bus_id for at in (1, 0, 3, 2) for pci, gpu in machine.gpus() if gpu.dev == at
    ]
    box = matrix(2, 0, lambda *_: "PIX", lambda _: "0-47\t0\t\tN/A", names=False)
    topology = load(f"smi:{tmp_path}/topo.txt,gpu=a6000,cpu=amd")
    assert topology.num_ranks == 4
    assert [len(child.pcis) for child in read(tmp_path, box, "gpu=l40s,cpu=amd").cpus[0].children] == [2]  # type: ignore[union-attr]  # a Pci


def test_four_gpus_of_a_rack(tmp_path: Path) -> None:
    def cell(one: str, other: str) -> str:
        if one[:3] == other[:3] == "GPU":
            return "NV18"
        return "NODE" if int(one[3:]) // 2 == int(other[3:]) // 2 else "SYS"

    tray = matrix(4, 4, cell, lambda gpu: f"0-71\t{gpu // 2}\t\t{2 + gpu}", names=False)
    machine = read(tmp_path, tray, "gpu=gb200,cpu=grace,nic=400Gbit/s")
    assert [gpu.c2cs[0].count for _, gpu in machine.gpus()] == [5] * 4
    assert [len(cpu.children) for cpu in machine.cpus] == [4, 4]  # two GPUs and two NICs at each Grace
    assert all(link.to == LinkTarget.SWITCH for _, gpu in machine.gpus() for link in gpu.nvlinks)


def test_nics_are_chosen(tmp_path: Path) -> None:
    machine = read(tmp_path, hgx(), H100 + ",nics=mlx5_1/NIC6")
    assert [(net.name, net.dev) for net in machine.nets()] == [("mlx5_1", 0), ("mlx5_6", 1)]


def test_an_nvswitch_of_two_has_to_be_told(tmp_path: Path) -> None:
    two = matrix(2, 0, lambda *_: "NV18", lambda _: "0-47\t0\t\tN/A", names=False)
    direct = read(tmp_path, two, "gpu=h100,cpu=amd")
    switched = read(tmp_path, two, "gpu=h100,cpu=amd,nvswitch=1")
    kinds = [next(machine.gpus())[1].nvlinks[0].to for machine in (direct, switched)]
    assert kinds == [LinkTarget.GPU, LinkTarget.SWITCH]


@pytest.mark.parametrize(
    ("old", "new", "keys", "message"),
    [
        ("", "", "cpu=amd", r"does not say gpu .one of v100, a100.*nic .the bandwidth of each of its 8"),
        ("", "", "gpu=h101,cpu=amd,nic=400Gbit/s", "gpu=h101: no such gpu; did you mean 'h100'"),
        ("", "", "gpu=h100,cpu=amd,nic=400", "'400' is not a bandwidth with a unit"),
        ("", "", "gpu=a100,cpu=amd,nic=200Gbit/s", "joined by NV18, but a GPU of gpu=a100 has 12 NVLinks"),
        ("", "", H100 + ",nics=mlx5_9", "has no NIC mlx5_9"),
        ("GPU7\tNV18", "GP", H100, r"topo.txt: no row of GPU7: is the output cut off"),
        ("\nNIC6\t", "\n\nNIC6\t", H100, r"topo.txt: no row of NIC6, NIC7: is the output cut off"),
        ("GPU3\tNV18\tNV18", "GPU3\tNV18\tNV1", H100, "GPU0|GPU1 reaches"),
        ("GPU2\tNV18\tNV18\t X ", "GPU2\tNV18\tNV18\tNV18", H100, r"topo.txt:4: GPU2 and GPU2: 'NV18': expected X"),
        ("NODE\tPIX\tNODE", "NODE\tPIE\tNODE", H100, "'PIE': expected NV#, PIX"),
        ("NIC0\tPIX\tNODE", "NIC0\tPIX\tPIX", H100, "GPU1 reaches NIC0 by NODE, but NIC0 reaches GPU1 by PIX"),
        ("mGPU0", "mCPU0", H100, "no matrix of nvidia-smi topo -m"),
    ],
)  # fmt: skip
def test_bad_output_and_missing_facts(tmp_path: Path, old: str, new: str, keys: str, message: str) -> None:
    with pytest.raises(HocketError, match=message):
        read(tmp_path, hgx().replace(old, new, 1), keys)


def test_distances_of_no_tree(tmp_path: Path) -> None:
    text = hgx().splitlines()
    text[1] = text[1].replace("NODE", "PIX")  # GPU0 beside NICs that are NODE apart
    with pytest.raises(TopologyError, match="are NODE apart, but others join them by PIX or nearer"):
        read(tmp_path, "\n".join(line for line in text if not line.startswith("NIC") or "mlx" in line), H100)


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text("driver report\n\n" + hgx(), encoding="utf-8")
    done = hocket("topology", "show", tmp_path / "topo.txt")
    assert done.returncode == 3
    assert f"write smi:{tmp_path}/topo.txt,gpu=h100,cpu=sapphire_rapids,nic=400Gbit/s" in done.stderr


@settings(max_examples=50)
@given(data=st.data())
def test_damaged_output_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([hgx(), dgx_1()]))
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.sampled_from([0, 1, 3, 30, len(text)]))
    noise = data.draw(st.text(alphabet="GPUNICXVSY0189\t\n \x1b[m", max_size=6))
    try:
        machine = read(tmp_path_factory.getbasetemp(), text[:at] + noise + text[at + cut :], H100)
    except (FormatError, TopologyError) as error:
        assert str(error)
    else:
        assert list(machine.gpus())
