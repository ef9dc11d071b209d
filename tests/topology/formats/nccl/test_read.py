"""NCCL's topology files: read, made a topology, and refused with line and remedy."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.topology import load
from hocket.topology.formats.nccl.read import read_nccl_topology

GB = 10**9
MACHINE = """\
<!-- two A100 of one NVLink each way, on one switch -->
<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:12:00.0" count="3" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:11:00.0" count="3" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:13:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="8">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0xa0" maxconn="64" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""


def write(folder: Path, text: str) -> str:
    path = folder / "machine.xml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def widths(path: str) -> set[tuple[str, float]]:
    topology = load(path)
    classes = [topology.classes[number] for number in topology.link_class]
    return {(name, bandwidth / GB) for name, bandwidth in zip(classes, topology.bandwidth.tolist(), strict=True)}


def test_bandwidths_are_those_nccl_counts_with(tmp_path: Path) -> None:
    path = write(tmp_path, MACHINE)
    # 3 NVLinks x 20 GB/s; 16 lanes x 12 Gbit/s / 8 = 24 GB/s, the NIC's 8 lanes 12; 200 Gbit/s = 25 GB/s
    assert widths(path) == {("nvlink", 60), ("pci", 24), ("pci", 12)}
    assert widths(f"nccl:{path},nodes=2") == {("nvlink", 60), ("pci", 24), ("pci", 12), ("fabric", 25)}  # no spine
    cluster = load(f"nccl:{path},nodes=2")
    assert cluster.num_ranks == 4
    assert cluster.machine.tolist() == [0, 0, 1, 1]
    assert cluster.num_nodes == 4 + 2 * 3 + 1  # of each machine CPU, PCI switch and NIC; one leaf


def test_a_gpu_whose_links_are_gone_is_said(tmp_path: Path) -> None:
    third = MACHINE.replace(
        '      <pci busid="0000:13:00.0"',
        '      <pci busid="0000:14:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">\n'
        '        <gpu dev="2" sm="80" rank="2" gdr="1"></gpu></pci>\n'
        '      <pci busid="0000:13:00.0"',
    )
    notes = read_nccl_topology(write(tmp_path, third)).notes
    assert notes == (
        "GPU 2 (line 12): no NVLink, though others have some: reached over PCI; is one down, or left out?",
    )
    assert read_nccl_topology(write(tmp_path, MACHINE)).notes == ()
    switched = re.sub(r'target="[^"]*" count="3" tclass="0x030200"', 'count="3" tclass="0x068000"', third)
    with pytest.raises(
        TopologyError, match=r"machine.xml:12: <gpu> dev 2 at 0000:14:00.0 has no link to the NVSwitches"
    ):
        read_nccl_topology(write(tmp_path, switched))


def test_numbers_are_read_as_c_does(tmp_path: Path) -> None:
    machine = read_nccl_topology(
        write(tmp_path, MACHINE.replace('dev="1"', 'dev="010"').replace('rank="1"', 'rank="01"'))
    )
    assert [(gpu.dev, gpu.rank) for _, gpu in machine.gpus()] == [(0, 0), (8, 1)]  # octal
    with pytest.raises(FormatError, match=r'dev="08" is not a whole number'):
        read_nccl_topology(write(tmp_path, MACHINE.replace('dev="1"', 'dev="08"')))


def test_gpus_without_a_rank_take_no_part_where_others_have_one(tmp_path: Path) -> None:
    path = write(tmp_path, MACHINE.replace('rank="0" ', ""))
    topology = load(f"nccl:{path},nodes=2")
    assert topology.num_ranks == 2
    assert topology.num_nodes == 2 + 2 * 3 + 1  # of each machine CPU, PCI switch and NIC; one switch joins them
    assert "nvlink" not in topology.classes
    assert load(write(tmp_path, re.sub(' rank="."', "", MACHINE))).num_ranks == 2


@pytest.mark.parametrize("sm", [101, 107, 110, 120, 121, 150])
def test_gpus_that_nccl_has_no_constants_for_are_said(tmp_path: Path, sm: int) -> None:
    note = (
        f"GPUs of sm {sm}: NCCL 2.30 has no constants of their own and counts with those of sm 100; nothing measured"
        " tells whether they hold"
    )
    path = write(tmp_path, MACHINE.replace('sm="80"', f'sm="{sm}"'))
    assert read_nccl_topology(path).notes == load(path).notes == (note,)
    assert f"note: {note}\n" in hocket("nccl", "choose", "-t", path, "-c", "all_reduce").stdout
    assert f"note: {note}\n" in hocket("simulate", "all_reduce", "-t", path, "-s", "1MiB").stdout


@pytest.mark.parametrize("sm", [60, 70, 75, 80, 86, 89, 90, 100, 103])
def test_gpus_that_nccl_knows_need_no_word(tmp_path: Path, sm: int) -> None:
    assert read_nccl_topology(write(tmp_path, MACHINE.replace('sm="80"', f'sm="{sm}"'))).notes == ()


AMD_MACHINE = MACHINE.replace('version="1"', 'version="2"').replace("nvlink", "xgmi").replace(
    'sm="80"', 'sm="304" gcn="gfx942" arch="38911"'
)  # fmt: skip


def test_what_rccl_takes_for_two_is_two(tmp_path: Path) -> None:
    """A switch with the address of another, as some of RCCL's own models have, and NICs of one number."""
    switch = '<pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">'
    text = AMD_MACHINE.replace('      <pci busid="0000:12', f'      {switch}\n      <pci busid="0000:12')
    text = text.replace('      <pci busid="0000:13', '      </pci>\n      <pci busid="0000:13')
    twice = '<net name="mlx5_0" dev="0" speed="200000" port="1" guid="0xa0" maxconn="64" gdr="1"/>'
    text = text.replace(twice, twice + "\n" + twice)
    machine = read_nccl_topology(write(tmp_path, text))
    assert machine.notes == (
        "<pci> busid 0000:10:00.0 of line 8 is on line 4 already: RCCL takes them for two, so here too",
        "<net> dev 0 of line 15 is on line 14 already: RCCL takes them for two, so here too",
    )
    topology = load(write(tmp_path, text))
    assert topology.num_nodes - topology.num_ranks == 1 + 2 + 1  # CPU, both switches, the NIC
    assert load(f"nccl:{tmp_path}/machine.xml,nodes=2").classes.count("fabric") == 1
    with pytest.raises(TopologyError, match=r"<pci> busid 0000:10:00\.0 is on line 4 already"):
        read_nccl_topology(write(tmp_path, text.replace('version="2"', 'version="1"').replace('sm="304"', 'sm="90"')))
    with pytest.raises(TopologyError, match=r"<pci> busid 0000:11:00\.0 is on line 5 already"):
        read_nccl_topology(write(tmp_path, AMD_MACHINE.replace('busid="0000:12', 'busid="0000:11')))


def test_an_architecture_that_rccl_has_no_rate_for_is_said(tmp_path: Path) -> None:
    notes = read_nccl_topology(write(tmp_path, AMD_MACHINE.replace("gfx942", "gfx1250"))).notes
    assert notes == ("GPUs gfx1250: RCCL has no xGMI rate for them and counts 24 GB/s per link",)
    assert read_nccl_topology(write(tmp_path, AMD_MACHINE)).notes == ()
    assert widths(write(tmp_path, AMD_MACHINE)) == {("xgmi", 3 * 48), ("pci", 24), ("pci", 12)}


def test_switches_linked_to_each_other_are_one_place(tmp_path: Path) -> None:
    second = '<pci busid="0000:20:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">'
    text = MACHINE.replace(
        '      <pci busid="0000:12', f'    </pci>{second}<pcilink target="0000:10:00.0"/><pci busid="0000:12'
    )
    text = text.replace("</nic>", '</nic></pci><pcilink target="0000:77:00.0"/><pci busid="0000:14:00.0" class="0x02"'
                        ' link_speed="16.0 GT/s PCIe" link_width="8">')  # fmt: skip
    assert ("pci", 5000) in widths(write(tmp_path, text))


@pytest.mark.shared
def test_public_machines(shared: Path) -> None:
    folder = shared / "nccl_topology"
    # 18 NVLinks x 20.6 (x 40.1 of B200); 16 lanes x 24 / 8; Intel Sapphire Rapids to its neighbour
    assert widths(f"{folder}/generated/dgx_h100.xml") == {("nvswitch", 370.8), ("pci", 48), ("cpu", 22)}
    assert ("nvswitch", 721.8) in widths(f"{folder}/generated/dgx_b200.xml")
    assert ("xgmi", 48) in widths(f"{folder}/rccl/topo_8p_940.xml")  # of MI300X
    computing = load(f"nccl:{folder}/generated/dgx_h100.xml,nodes=3,nvls=1")
    assert len(computing.in_network) == 3
    fabric = load(f"nccl:{folder}/generated/dgx_h100.xml,nodes=3,nvls=1,sharp=1")
    assert len(fabric.in_network) == 3 + 8 + 1  # a leaf a NIC, and the spine
    with_gpus = 0
    for path in sorted(folder.glob("*/*.xml")):
        try:
            with_gpus += load(str(path)).num_ranks >= 4
        except (FormatError, TopologyError) as error:
            assert "NCCL_TOPO_DUMP_FILE" in str(error) or "NCCL_GRAPH_FILE" in str(error)  # no <gpu>; a graph file
    assert with_gpus == 16  # 5 generated, 10 of AMD, Azure's NCv4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('sm="80" rank="1"', 'rank="1"', r"machine.xml:9: <gpu>: has no sm"),
        ('dev="1"', 'dev="0"', r":9: <gpu> dev 0 is on line 6 already"),
        ('busid="0000:12', 'busid="0000:10', r":8: <pci> busid 0000:10:00.0 is on line 4 already"),
        ('target="0000:12:00.0"', 'target="0000:77:00.0"', r":6: .* to 0000:77:00.0: no <gpu> has that busid"),
        ('11:00.0" count="3"', '11:00.0" count="2"', r":6: link from 0000:11:00.0 .*3 of them there, 2 back"),
        ('count="3"', 'count="0"', r":6: <nvlink>: count=0: expected at least 1"),
        ('speed="200000"', 'speed="200"', r':12: <net>: speed="200" is in Mbit/s, so 0.025 GB/s; for 200 Gbit/s write'),
        ("16.0 GT/s PCIe", "16 GB/s", r':4: <pci>: link_speed="16 GB/s": expected a PCI speed'),
        ('class="0x030200"', 'class="0x060400"', r":5: <pci>: has a <gpu>, but its class is no GPU's"),
        ("</cpu>\n", "", r":15: </system> closes what is not open: expected </cpu> of line 3"),
        ("</system>\n", "", r":2: <system> is not closed; is the file cut off\?"),
        ("</cpu>", '</cpu><cpu host_hash="0x7"/>', r"machine.xml: 2 hosts in it"),
        ("<nic>", "<switch>", r":12: </nic> closes what is not open"),
        ("<nic>", "<pci/><nic>", r":12: <pci>: has no link_speed"),
        ('version="1"', 'version="7"', r':2: <system version="7">: known are 1 \(NCCL\), 2 \(RCCL\)'),
        ("<system", '<?xml version="1.0"?><system', r":2: expected an element"),
        ("<net ", "<gpu/><net ", r":12: <gpu> in <nic> of line 12: expected <net>"),
        ('gdr="1"/></nic>', 'gdr="1" gdr="0"/></nic>', r":12: <net> has an attribute twice"),
    ],
)
def test_bad_input_names_line_and_remedy(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MACHINE
    with pytest.raises((FormatError, TopologyError), match=message):
        read_nccl_topology(write(tmp_path, MACHINE.replace(old, new, 1)))


def test_machines_that_cannot_be_asked_for(tmp_path: Path) -> None:
    alone = write(tmp_path, re.sub("<nic>.*</nic>", "", MACHINE))
    with pytest.raises(TopologyError, match=r"no NIC in it, so 2 machines are not connected"):
        load(f"nccl:{alone},nodes=2")
    with pytest.raises(TopologyError, match="nvls=1 needs NVSwitches"):
        load(f"nccl:{alone},nvls=1")
    with pytest.raises(TopologyError, match="sharp=1 needs a fabric"):
        load(f"nccl:{alone},sharp=1")


@given(data=st.data())
@settings(max_examples=150)
def test_no_text_crashes_the_reader(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = MACHINE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        piece = data.draw(st.text(max_size=5) | st.sampled_from(["<pci", "/>", "</gpu>", '"', "-1", "0x", "9" * 30]))
        text = text[:at] + piece + text[at + length :]
    path = tmp_path_factory.getbasetemp() / "mutant.xml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        load(str(path))
    except HocketError as error:
        assert "mutant.xml" in str(error)
