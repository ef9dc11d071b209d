"""Machines by name: as topologies, as NCCL sees them, and as NCCL's topology files."""

from dataclasses import replace
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import FormatError, TopologyError
from hocket.nccl import COLLECTIVES, NcclModel
from hocket.topology import load
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.formats.nccl.read import read_nccl_topology
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.hardware import CPUS, GPUS
from hocket.topology.machines.loading import load_machine
from hocket.topology.machines.presets import PRESETS
from hocket.topology.machines.records import MACHINES

GB = 10**9
# the names and link columns that files and schedules of before have
FINGERPRINTS = {
    "dgx-1:link=25GB/s,latency=700ns": "080f542e199b57b3",
    "mi250:link=50GB/s,latency=700ns": "ea978dd72adb5e0e",
    "dgx-a100:nodes=4,gpus=8": "34e26e97d169943f",
    "dgx-h100:nodes=3,gpus=5,nvls=1,sharp=1": "67698672de3abc96",
}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_presets_of_before_are_the_same(name: str) -> None:
    topology = load(name)
    assert (topology.name, topology.fingerprint[:16]) == (name, FINGERPRINTS[name])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_cluster_and_a_machine(name: str, tmp_path: Path) -> None:
    record, two = MACHINES[name], load(f"{name}:nodes=2")
    assert record.cpu in CPUS
    assert two.num_ranks == 2 * record.gpus
    assert load(two.name).fingerprint == two.fingerprint  # the name says it all
    machine = load_machine(name)
    assert len(list(machine.gpus())) == record.gpus // record.hosts
    assert sum(net.speed for net in machine.nets()) == record.rails * record.nic * 1000
    path = tmp_path / "machine.xml"
    path.write_text(topology_text(machine))
    assert topology_text(read_nccl_topology(path)) == path.read_text()
    # as many links out of a GPU as it has, whichever way they go
    for _, gpu in machine.gpus():
        assert sum(link.count for link in gpu.nvlinks) in (GPUS[record.gpu].links, 7)  # of MI250's eight, one is PCIe
    if machine.dialect == Dialect.NCCL and not name.startswith("dgx-"):  # those have golden answers
        assert NcclModel(machine, 2).graphs["Ring"]["channels"] >= 1


@pytest.mark.shared
@pytest.mark.parametrize("path", ["generated/*.xml", "rccl/*.xml", "azure/ncv4-topo.xml"])
def test_what_is_written_is_read_again(shared: Path, tmp_path: Path, path: str) -> None:
    for file in sorted((shared / "nccl_topology").glob(path)):
        text = topology_text(read_nccl_topology(file))
        (tmp_path / file.name).write_text(text)
        again = read_nccl_topology(tmp_path / file.name)
        assert topology_text(again) == text
        one, other = load(str(file)), load(str(tmp_path / file.name))
        assert replace(one, name="").fingerprint == other.fingerprint, file


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "file"),
    [("dgx-a100", "dgx_a100"), ("dgx-h100", "dgx_h100"), ("dgx-h200", "hgx_h200"), ("dgx-b200", "dgx_b200")],
)
def test_presets_give_the_answers_of_the_golden_machines(shared: Path, name: str, file: str) -> None:
    """`tests/nccl/test_golden.py` holds what the files give against NCCL's own answers."""
    golden = read_nccl_topology(shared / "nccl_topology" / "generated" / f"{file}.xml")
    sizes = [2**exponent for exponent in range(3, 35)]
    for nodes in (1, 2):
        one, other = NcclModel(golden, nodes), NcclModel(load_machine(name), nodes)
        assert one.channels == other.channels
        for collective in COLLECTIVES:
            assert one.choose(collective, sizes).time_us.tolist() == other.choose(collective, sizes).time_us.tolist()


def test_an_h800_has_the_channels_that_nccl_printed() -> None:
    """NCCL's issue 892: 16 channels among 8 H800 without NVLS. 160 GB/s per direction are what DeepSeek measured."""
    shown = hocket("nccl", "choose", "-t", "dgx-h800:nvls=0", "-c", "all_reduce").stdout
    assert "Ring 8 channels: 20 GB/s each over NVL\n" in shown
    assert "kernels run on up to 16 channels\n" in shown


def test_numbers_of_some() -> None:
    def widths(spec: str) -> set[tuple[str, float]]:
        topology = load(spec)
        names = [topology.classes[number] for number in topology.link_class]
        return {(name, width / GB) for name, width in zip(names, topology.bandwidth.tolist(), strict=True)}

    # 18 NVLinks of 50 GB/s; NICs of 400 Gbit/s, 72 in each of two racks on 4 rails: 36 x 50 GB/s up from a leaf
    assert widths("gb200-nvl72:nodes=2") == {("nvlink", 900), ("pcie", 57.6), ("fabric", 50), ("fabric", 1800)}
    # two GPUs share a NIC of 100 Gbit/s behind a switch of Gen3
    assert widths("p4d:nodes=2") == {("nvlink", 300), ("pcie", 14.4), ("fabric", 12.5), ("fabric", 25)}
    assert load("ndv2:nodes=2").num_nodes == 16 + 2 + 1  # a NIC a machine, all on one leaf: no spine
    assert load("p4d:nodes=2").num_nodes == 16 + 2 + 2 * 4 + 4 + 1  # NVSwitches, NICs, leaves, the spine
    assert widths("dgx-h800") == {("nvlink", 200)}  # 8 NVLinks of 25 GB/s
    assert widths("mi300x") == {("xgmi", 64)}
    assert widths("mi355x") == {("xgmi", 76.8)}
    assert widths("gb300-nvl72:nodes=2") == {("nvlink", 900), ("pcie", 115.2), ("fabric", 100), ("fabric", 3600)}
    assert widths("vera-rubin-nvl144") == {("nvlink", 1800)}
    assert widths("a3-mega:nodes=2") == {("nvlink", 450), ("pcie", 57.6), ("fabric", 25), ("fabric", 50)}
    assert widths("p6-b300:nodes=2") == {("nvlink", 900), ("pcie", 115.2), ("fabric", 100), ("fabric", 200)}
    assert load("mi300x").num_links == 8 * 7
    # the first six of the cube mesh keep the links among themselves: six pairs by one, three by two NVLinks
    assert load("dgx-1:gpus=6").num_ranks == 6
    assert load("dgx-1:gpus=6").num_links == 2 * 9
    assert widths("dgx-1:gpus=6") == {("nvlink", 25), ("nvlink", 50)}
    assert load("mi300x:gpus=4").num_links == 4 * 3
    assert widths("dgx-h100:link=20.6GB/s") == {("nvlink", 370.8)}  # as NCCL counts


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mi300x:gpus=9", "mi300x takes gpus from 1 to 8"),
        ("mi300x:nvls=1", "it has no NVSwitches that can reduce; nvls=1 is for dgx-h100"),
        ("p5:nodes=20000", "p5 takes nodes from 1 to 16384"),
        ("dgx-h100:link=0GB/s", "must be positive"),
    ],
)
def test_what_a_preset_cannot_be(spec: str, message: str) -> None:
    with pytest.raises((FormatError, TopologyError), match=message):
        load(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dgx-h100:nodes=2", "one machine is asked for here: give its name, 'dgx-h100', alone"),
        ("dgx-h1000", "dgx-h100"),
    ],
)
def test_what_is_no_machine(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_machine(text)


def test_nccl_chooses_by_the_latency_that_it_is_told() -> None:
    """AWS's plugin says 75 us on p5; without it NVLSTree would begin at 2 MiB."""
    sizes = [2**exponent for exponent in range(20, 28)]

    def first_nvls_tree(name: str) -> int:
        choices = NcclModel(load_machine(name), 2).choose("AllReduce", sizes)
        return next(size for at, size in enumerate(sizes) if choices.name(at) == "NVLSTree/Simple")

    assert (first_nvls_tree("p5"), first_nvls_tree("dgx-h100")) == (64 << 20, 2 << 20)


def test_times_over_efa_are_what_its_steps_take() -> None:
    model = NcclModel(load_machine("p5"), 2)
    terms = {f"{term.algorithm}/{term.protocol}": term for term in model.terms("AllReduce", 8)}
    assert terms["Tree/LL"].time_us == pytest.approx(25.2 + 2 * 75, abs=0.01)  # as NCCL is told
    assert model.takes_us("AllReduce", terms["Tree/LL"], 8) == pytest.approx(25.2 + 2 * 23, abs=0.01)
    simple = terms["NVLSTree/Simple"]
    assert model.takes_us("AllReduce", simple, 8) == simple.time_us
    answer = hocket("simulate", "all_reduce", "-t", "p5:nodes=2", "-s", "8B")
    assert "time                   71.2 us" in answer.stdout
    assert "tells NCCL 75 us of latency, by which it chooses; a step by LL or LL128 takes 23 us" in answer.stdout


def test_what_is_assumed_and_not_known_is_said() -> None:
    chosen = hocket("nccl", "choose", "-t", "vera-rubin-nvl144", "-c", "all_reduce", "--min", "1GiB", "--max", "1GiB")
    assert "note: vera-rubin-nvl144: assumed: 4 NICs per tray on PCI of Gen6 x16, sm 107" in chosen.stdout
    sentence = "GPUs of sm 107: NCCL 2.30 has no constants of their own and counts with those of sm 100"
    assert f"note: {sentence}" in chosen.stdout
    answer = hocket("simulate", "all_reduce", "-t", "vera-rubin-nvl144", "-s", "1GiB")
    assert f"assumed: {sentence}" in answer.stdout
    assert "vera-rubin-nvl144: assumed: " in answer.stdout
    assert load("dgx-h100").notes == ()


def test_commands_take_machines_by_name(tmp_path: Path) -> None:
    chosen = ("nccl", "choose", "--nodes", "2", "-c", "all_reduce", "--topology")
    by_name = hocket(*chosen, "dgx-h100")
    assert by_name.returncode == 0, by_name.stderr
    saved = hocket("topology", "save", "dgx-h100", "-o", tmp_path / "machine.xml")
    assert saved.stdout == f"wrote {tmp_path}/machine.xml: 8 GPUs, 8 network devices, as NCCL's topology file\n"
    by_file = hocket(*chosen, tmp_path / "machine.xml")
    assert by_file.stdout.replace("machine.xml", "dgx-h100") == by_name.stdout
