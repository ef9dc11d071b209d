"""What the model says of machines that no golden answer is of: settings, refusals, and what must hold of any."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generated_machines import SIZES, VENDORS, machine_text, model_of, names
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket._core.nccl import Model, default_constants
from hocket.base.errors import FormatError, HocketError, Infeasible, TopologyError
from hocket.nccl import PATH_TYPES, Constants, NcclModel, Settings, read_settings
from hocket.topology.formats.nccl.read import read_nccl_topology


def test_a_rings_time_by_hand(tmp_path: Path) -> None:
    model = model_of(tmp_path, machine_text(sm=80, link="mesh", nics=0))
    ring = model.graphs["Ring"]
    # 7 x 2 NVLinks of 20 GB/s leave a GPU and every ring takes one each way: together at most 280 GB/s
    assert 200 <= ring["channels"] * ring["intra"] <= 280
    simple = next(t for t in model.terms("AllReduce", 2**30) if (t.algorithm, t.protocol) == ("Ring", "Simple"))
    assert simple.latency_us == pytest.approx(8.4 + 14 * 3.4)  # its base, and 2 (8 - 1) steps over NVLink
    bus = ring["channels"] * ring["intra"]
    assert simple.bandwidth == pytest.approx(bus * 8 / 14)
    assert simple.time_us == pytest.approx(56 + 2**30 / (1000 * bus * 8 / 14), rel=1e-5)


def test_settings_change_what_they_say(tmp_path: Path) -> None:
    text = machine_text()
    assert "NVLS/Simple" in names(model_of(tmp_path, text))
    assert "NVLS/Simple" not in names(model_of(tmp_path, text, 1, "NCCL_NVLS_ENABLE=0"))
    assert {name.partition("/")[0] for name in names(model_of(tmp_path, text, 1, "NCCL_ALGO=ring"))} == {"Ring"}
    only = model_of(tmp_path, text, 1, "NCCL_ALGO=^nvls;broadcast:ring", "NCCL_PROTO=^LL,LL128")
    assert names(only) <= {"Ring/Simple", "Tree/Simple"}
    few = model_of(tmp_path, text, 1, "NCCL_MAX_NCHANNELS=4", "NCCL_NVLS_ENABLE=0")
    assert few.choose("AllReduce", SIZES).channels.max() == 4
    assert model_of(tmp_path, text, 1, "NCCL_MIN_NCHANNELS=48").channels[0] == 48
    rings = [model_of(tmp_path, text, 2, f"NCCL_CROSS_NIC={cross}").graphs["Ring"] for cross in (0, 1)]
    assert [ring["cross_nic"] for ring in rings] == [0, 1]
    assert all(in_ == out for in_, out in rings[0]["nets"].reshape(-1, 2).tolist())
    with pytest.raises(Infeasible, match="no algorithm is left"):
        model_of(tmp_path, text, 1, "NCCL_ALGO=broadcast:tree").choose("Broadcast", [8])


SWITCH = """<pci busid="0000:{bus:02x}:00.0" class="0x060400" vendor="0x1000" device="{device}"
 subsystem_vendor="0x1000" subsystem_device="{part}" link_speed="32.0 GT/s PCIe" link_width="16">{inside}</pci>"""
GPU = """<pci busid="0000:{bus:02x}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
<gpu dev="{dev}" sm="100"><nvlink target="0000:05:00.0" tclass="0x068000" count="18"/>{c2c}</gpu></pci>"""
NIC = """<pci busid="0000:{bus:02x}:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
<nic><net dev="{dev}" speed="400000" port="1" guid="0x{dev}" gdr="1"/></nic></pci>"""


@pytest.mark.parametrize(("device", "distance"), [("0xc030", "PIX"), ("0xc034", "PXB")])
def test_broadcoms_two_levels_are_one_switch(tmp_path: Path, device: str, distance: str) -> None:
    parts = [GPU.format(bus=2 + dev, dev=dev, c2c="") for dev in (0, 1)]
    parts += [NIC.format(bus=8 + dev, dev=dev) for dev in (0, 1)]
    lower = (SWITCH.format(bus=64 + at, device=device, part="0x1000", inside=inside) for at, inside in enumerate(parts))
    upper = SWITCH.format(bus=128, device=device, part="0x0000", inside="".join(lower))
    text = f'<system version="1"><cpu numaid="0" arch="arm64">{upper}</cpu></system>'
    assert PATH_TYPES[model_of(tmp_path, text, 2).graphs["Tree"]["type_inter"]] == distance


@pytest.mark.parametrize(("c2c", "distance"), [('<c2c bw="44712" count="5"/>', "P2C"), ("", "PHB")])
def test_a_nic_on_the_cpu_that_a_gpu_is_packaged_with_is_near(tmp_path: Path, c2c: str, distance: str) -> None:
    cpus = (
        f'<cpu numaid="{dev}" arch="arm64">{GPU.format(bus=2 + dev, dev=dev, c2c=c2c)}'
        f"{NIC.format(bus=8 + dev, dev=dev)}</cpu>"
        for dev in (0, 1)
    )
    model = model_of(tmp_path, f'<system version="1">{"".join(cpus)}</system>', 2)
    assert PATH_TYPES[model.graphs["Tree"]["type_inter"]] == distance


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("NCCL_NVLS_ENABEL=0", r"no variable that the model depends on; .*NCCL_NVLS_ENABLE"),
        ("NCCL_DEBUG=INFO", r"NCCL_DEBUG: no variable that the model depends on"),
        ("NCCL_MIN_NCHANNELS=65", r"NCCL_MIN_NCHANNELS=65: expected a whole number from 0 to 64"),
        ("NCCL_MIN_NCHANNELS", r"expected NAME=VALUE"),
        ("NCCL_ALGO=rign", r"'rign': no such name; .*Ring"),
        ("NCCL_ALGO=ring;tree", r"every part but the first names a collective"),
        ("NCCL_P2P_LEVEL=NEAR", r"expected one of LOC, NVL"),
        ("NCCL_NETDEVS_POLICY=MAX:0", r"expected AUTO, ALL or MAX:N"),
        ("NCCL_THREAD_THRESHOLDS=8 x", r"up to six bytes a thread"),
    ],
)
def test_unknown_settings_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_settings([assignment])


@pytest.mark.shared
def test_machines_that_are_not_modelled(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(TopologyError, match=r"machine.xml: no <net> in the machine"):
        model_of(tmp_path, machine_text(nics=0), 2)
    with pytest.raises(TopologyError, match=r"machine.xml: a job of one GPU"):
        model_of(tmp_path, machine_text(gpus=1))
    with pytest.raises(TopologyError, match=r"a machine of RCCL"):
        NcclModel(read_nccl_topology(shared / "nccl_topology" / "rccl" / "topo_8p_940.xml"))


def test_the_command_says_what_a_setting_changes(tmp_path: Path) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(machine_text(), encoding="utf-8")
    command = ["nccl", "choose", "--topology", path, "-c", "all_reduce"]
    done = hocket(*command, "--set", "NCCL_NVLS_ENABLE=0")
    assert done.returncode == 0, done.stderr
    assert re.search(r"the settings change \d+ of 32 choices", done.stdout)
    assert re.search(r"from 2 MiB: NVLS/Simple -> ", done.stdout)  # 8 x H100 switch there: nccl-tests' issue 309
    wrong = hocket(*command, "--set", "NCCL_NVLS=0")
    assert wrong.returncode == 2
    assert "NCCL_NVLS: no variable" in " ".join(wrong.stderr.split())


def test_a_stated_version() -> None:
    command = ["nccl", "choose", "--topology", "dgx-b200", "-c", "all_gather", "--min", "16MiB", "--max", "64MiB"]
    # The caps of LL128 a channel on Blackwell: 2 x 36.7 GB/s in 2.28, 40 GB/s in 2.30.
    known = (("2.28.9", "16 MiB .. 32 MiB     Ring/LL128"), ("2.30", "32 MiB .. 64 MiB     Ring/Simple"))
    for version, expected in known:
        done = hocket(*command, "--nccl-version", version)
        assert expected in done.stdout and "note:" not in done.stdout
    for version, note in (("2.31", "its development branch are modelled, 2.31.0a7"), ("2.32.3", "taken for 2.31.0a7")):
        assert note in hocket(*command, "--nccl-version", version).stdout
    for version in ("2.21.5", "2.26", "3", "two"):
        refused = hocket(*command, "--nccl-version", version)
        assert refused.returncode == 2
        expected = f"NCCL {version} is not modelled, only 2.27, 2.28, 2.29, 2.30, 2.31"
        assert expected in " ".join(refused.stderr.split())


machines = st.fixed_dictionaries(
    {
        "gpus": st.integers(2, 8),
        "per_switch": st.integers(1, 4),
        "sm": st.sampled_from([70, 80, 90, 100]),
        "link": st.sampled_from(["switch", "mesh", "none"]),
        "nics": st.integers(0, 8),
        "vendor": st.sampled_from(list(VENDORS)),
    }
)


@given(machine=machines, nodes=st.sampled_from([1, 2, 5]))
@settings(max_examples=20)
def test_what_holds_of_every_machine(
    machine: dict[str, int | str], nodes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    try:
        model = model_of(folder, machine_text(**machine), nodes)  # type: ignore[arg-type]  # drawn by name
    except TopologyError as error:
        assert "no <net>" in str(error)
        return
    if model.machines > nodes:  # split
        return
    gpus = machine["gpus"]
    for name in ("Ring", "Tree"):
        graph = model.graphs[name]
        channels = graph["gpus"].reshape(graph["channels"], gpus)
        assert graph["channels"] >= 1
        assert np.array_equal(np.sort(channels), np.tile(np.arange(gpus), (graph["channels"], 1)))
        assert PATH_TYPES[graph["type_intra"]] != "DIS"
    again = model_of(folder, machine_text(**machine), nodes)  # type: ignore[arg-type]  # drawn by name
    for collective in ("AllReduce", "AllGather", "Broadcast"):
        choices = model.choose(collective, SIZES)
        assert np.array_equal(choices.time_us, again.choose(collective, SIZES).time_us)
        for at in (0, 15, 31):
            times = [term.time_us for term in model.terms(collective, SIZES[at]) if not term.out]
            assert choices.time_us[at] == min(times)
            assert all(time > 0 for time in times)


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 7), max_size=60))
def test_no_numbers_crash_the_engine(numbers: list[int]) -> None:
    try:
        Model([(np.array(numbers, np.int64), 2)], Settings(), default_constants())
    except HocketError as error:
        assert str(error)


@pytest.mark.shared
def test_constants_are_what_the_model_multiplies(shared: Path) -> None:
    # Ring/LL on one machine: base + 14 steps of 0.6 us, at most 141 GB/s of bus, x 8 / 14 of the size.
    machine = read_nccl_topology(shared / "nccl_topology" / "generated" / "dgx_h100.xml")
    own = Constants.of_nccl()
    base, most = own.base_latency.copy(), own.most_ll.copy()
    base[1, 0], most[2, 0] = 10.0, 70.0
    changed = NcclModel(machine, constants=replace(own, base_latency=base, most_ll=most))
    expected = {NcclModel(machine): (6.6 + 14 * 0.6, 141 * 8 / 14), changed: (10.0 + 14 * 0.6, 70 * 8 / 14)}
    for model, numbers in expected.items():
        (term,) = (each for each in model.terms("AllReduce", 8) if (each.algorithm, each.protocol) == ("Ring", "LL"))
        assert (term.latency_us, term.bandwidth) == pytest.approx(numbers)
    assert own.flat().shape == (144,)
