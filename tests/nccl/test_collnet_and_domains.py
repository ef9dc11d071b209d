"""CollNet, NVLink domains of several hosts, machines that NCCL splits, channels given, and groups of calls.

The channels are what NCCL's own code (2.30.7, compiled with stubs) finds on these machines; the arithmetic is by hand.
"""

from pathlib import Path

import pytest
from generated_machines import SIZES, machine_text, model_of, names
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.nccl import PATH_TYPES, NcclModel, Term, read_settings
from hocket.topology.formats.nccl.graph import read_nccl_graphs
from hocket.topology.formats.nccl.read import read_nccl_topology

SHARP = machine_text().replace('gdr="1"/></nic>', 'gdr="1" coll="1"/></nic>')


def term(model: NcclModel, collective: str, algorithm: str, operations: int = 1) -> Term:
    terms = model.terms(collective, 2**20, operations)
    return next(term for term in terms if (term.algorithm, term.protocol) == (algorithm, "Simple"))


def test_collnet_by_hand(tmp_path: Path) -> None:
    model = model_of(tmp_path, SHARP, 4, "NCCL_COLLNET_ENABLE=1")
    for name, intra in (("CollNetChain", 48), ("CollNetDirect", 48), ("NVLS", 40)):
        graph = model.graphs[name]
        assert (graph["channels"], graph["intra"], graph["inter"]) == (8, intra, 48)
    direct, chain = (term(model, "AllReduce", name) for name in ("CollNetDirect", "CollNetChain"))
    assert direct.latency_us == pytest.approx(2 * (3.7 + 7 * 0.4) + 31)
    assert direct.bandwidth == pytest.approx(8 * 48 / 1 * 0.85 * 0.5)  # 1 GPU a NIC
    assert chain.latency_us == pytest.approx(2 * 7 * 2.8 + 30)
    assert chain.bandwidth == pytest.approx(8 * 48 * 0.5)
    nvls = term(model, "AllReduce", "NVLS")
    assert nvls.latency_us == pytest.approx(25 + 18)
    assert nvls.bandwidth == pytest.approx(8 * min(40 * 0.85 * 7 / 8 * 2, 48) * 32 / 62)
    assert term(model, "AllGather", "CollNetDirect").bandwidth == pytest.approx(8 * min(48, 48 * 0.9))
    assert "NVLS/Simple" in names(model)


@pytest.mark.parametrize(
    ("text", "nodes", "variables", "algorithm", "why"),
    [
        (SHARP, 4, [], "CollNetDirect", "needs CollNet (SHARP): NCCL_COLLNET_ENABLE=1"),
        (machine_text(), 4, ["NCCL_COLLNET_ENABLE=1"], "CollNetChain", "needs CollNet"),
        (SHARP, 4, ["NCCL_COLLNET_ENABLE=1", "NCCL_COLLNET_NODE_THRESHOLD=5"], "NVLS", "needs CollNet"),
        (machine_text(gpus=10, nics=10).replace('gdr="1"/></nic>', 'gdr="1" coll="1"/></nic>'), 2,
         ["NCCL_COLLNET_ENABLE=1"], "CollNetDirect", "fewer GPUs"),
    ],
)  # fmt: skip
def test_why_collnet_is_out(
    tmp_path: Path, text: str, nodes: int, variables: list[str], algorithm: str, why: str
) -> None:
    model = model_of(tmp_path, text, nodes, *variables)
    assert why in term(model, "AllReduce", algorithm).out


def test_hosts_of_an_nvlink_domain_are_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "host.xml"
    path.write_text(machine_text(gpus=4, nics=4, sm=100), encoding="utf-8")
    machine = read_nccl_topology(path)
    rack = NcclModel(machine, 4, domain=4)
    assert (rack.machines, rack.ranks, rack.graphs["Ring"]["channels"]) == (1, 16, 16)
    nvls = term(rack, "AllReduce", "NVLS")
    assert nvls.bandwidth == pytest.approx(16 * min(40 * 0.74 * 15 / 16 * 2, 80) * 16 / 30)
    assert NcclModel(machine, 8, domain=4).machines == 2
    assert term(NcclModel(machine, 4), "AllReduce", "NVLS").out  # over several machines it needs CollNet
    with pytest.raises(TopologyError, match="6 nodes are no whole number of NVLink domains of 4"):
        NcclModel(machine, 6, domain=4)


def test_gpus_that_reach_the_network_faster_than_each_other_are_machines(tmp_path: Path) -> None:
    # Across the CPUs 22 GB/s; a NIC gives 50 beside each GPU, and in a switch the GPUs have 48 to each other
    model = model_of(tmp_path, machine_text(link="none"))
    assert (model.machines, model.ranks) == (2, 8)
    ring = model.graphs["Ring"]
    assert (ring["channels"], ring["intra"], PATH_TYPES[ring["type_inter"]]) == (2, 20, "PHB")


def test_a_group_of_calls_shares_latencies(tmp_path: Path) -> None:
    model = model_of(tmp_path, machine_text(), 2)
    ring, tree = term(model, "AllReduce", "Ring"), term(model, "AllReduce", "Tree")
    # Each call of a ring has its latency, of a tree every eighth
    assert term(model, "AllReduce", "Ring", 9).time_us > 8 * ring.latency_us
    extra = term(model, "AllReduce", "Tree", 9).time_us - tree.time_us
    assert extra == pytest.approx(tree.latency_us, rel=1e-4)
    assert term(model, "AllReduce", "Tree", 8).time_us == tree.time_us


GRAPH = """<graphs version="1"><graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="7" speedinter="7"
 latencyinter="0" typeintra="{type}" typeinter="PIX" samechannels="1"><channel>{gpus}</channel></graph></graphs>"""


def test_channels_given_are_taken(tmp_path: Path) -> None:
    path, graph = tmp_path / "machine.xml", tmp_path / "graph.xml"
    path.write_text(machine_text(gpus=4, sm=80), encoding="utf-8")
    graph.write_text(GRAPH.format(type="NVL", gpus="".join(f'<gpu dev="{dev}"/>' for dev in (0, 2, 1, 3))))
    machine = read_nccl_topology(path)
    model = NcclModel(machine, graphs=read_nccl_graphs(graph))
    ring = model.graphs["Ring"]
    assert (ring["channels"], ring["intra"], ring["gpus"].tolist()) == (1, 7, [0, 2, 1, 3])
    # As many trees as rings, and twice as many channels of kernels: min(1, what the search finds) x 2
    assert model.channels[0] == 2
    assert term(model, "AllReduce", "Ring").bandwidth == pytest.approx(7 * 4 / 6)
    done = hocket("nccl", "choose", "--topology", path, "--graph", graph, "-c", "all_reduce")
    assert done.returncode == 0, done.stderr
    assert "Ring 1 channels: 7 GB/s each over NVL" in done.stdout
    assert "the settings change" in done.stdout
    graph.write_text(GRAPH.format(type="NVL", gpus="".join(f'<gpu dev="{dev}"/>' for dev in (0, 2, 1, 9))))
    with pytest.raises(FormatError, match=r"graph.xml:2: <channel>: GPU with dev 9 .*machine.xml has none"):
        NcclModel(machine, graphs=read_nccl_graphs(graph))


@given(
    at=st.integers(0, 10**6), word=st.sampled_from(["", "0", "-1", "99999999999", '"', "<gpu", "nvlink", "0x068001"])
)
@settings(max_examples=40)
def test_no_file_crashes_the_model(at: int, word: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = machine_text(gpus=4, nics=2)
    at %= len(text)
    path = tmp_path_factory.getbasetemp() / "mutated.xml"
    path.write_text(text[:at] + word + text[at + len(word) :], encoding="utf-8")
    try:
        model = NcclModel(read_nccl_topology(path), 2, read_settings(["NCCL_COLLNET_ENABLE=1"]))
        assert len(model.choose("AllReduce", SIZES).time_us) == len(SIZES)
    except HocketError as error:
        assert "mutated.xml" in str(error)
