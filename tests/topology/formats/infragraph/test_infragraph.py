"""InfraGraph's files: read as its own service reads them, written, and refused with line and remedy.

`pair.yaml` was made with its Python package (3.1.0): two servers of two accelerators, whose NIC is a device of its own,
and a switch. Its service makes 19 nodes and 22 edges of it.
"""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.topology import Topology, load
from hocket.topology.formats.infragraph.write import infragraph_text

PAIR = Path(__file__).parent / "pair.yaml"
TEXT = PAIR.read_text(encoding="utf-8")
SPEC = f"infragraph:{PAIR},pcie.bandwidth=57.6GB/s"
GB = 10**9


def links(topology: Topology) -> list[tuple[int, int, int, int, str]]:
    names = [topology.classes[kind] for kind in topology.link_class]
    columns = topology.src.tolist(), topology.dst.tolist(), topology.latency_ps.tolist(), topology.bandwidth.tolist()
    return sorted(zip(*columns, names, strict=True))


def test_a_file_of_the_package_is_read_as_its_service_reads_it() -> None:
    topology = load(SPEC)
    assert (topology.name, topology.num_ranks, topology.num_nodes, topology.num_links) == ("pair", 4, 19, 2 * 22)
    assert topology.machine.tolist() == [0, 0, 1, 1]
    widths = {(name, rate / GB, latency) for _, _, latency, rate, name in links(topology)}
    assert widths == {
        ("nvlink", 450, 350_000),
        ("pcie", 57.6, 600_000),
        ("ic", 100, 50_000),
        ("ic", 400, 10_000),
        ("cable", 50, 100_000),
    }


def test_json_and_what_the_service_answers_are_read_too(tmp_path: Path) -> None:
    content = yaml.safe_load(TEXT)
    for name, written in (("plain", content), ("answer", {"infrastructure": content, "annotations": {"nodes": []}})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(written, indent=1))
        assert links(load(f"infragraph:{path},pcie.bandwidth=57.6GB/s")) == links(load(SPEC))


SAVED = ["dgx-h100:nodes=2", "mi355x:nodes=3", "gaudi3", "mesh:4x4,bandwidth=50GiB/s,latency=1.5us", "trn3-ultra"]


@pytest.mark.parametrize("spec", SAVED)
@pytest.mark.parametrize("end", ["yaml", "json"])
def test_what_is_written_reads_back(tmp_path: Path, spec: str, end: str) -> None:
    path = tmp_path / f"saved.infragraph.{end}"
    done = hocket("topology", "save", spec, "-o", path)
    assert done.returncode == 0, done.stderr
    before, again = load(spec), load(str(path))
    # links of one class with other bandwidths are of a link, and so of a class, each: fabric, fabric-2
    assert [(*link[:4], link[4].partition("-")[0]) for link in links(again)] == links(before)
    assert again.machine.tolist() == before.machine.tolist()
    assert infragraph_text(again, as_json=end == "json").count("link") == path.read_text().count("link")
    checked = hocket("topology", "check", path)
    assert f"{before.num_ranks} ranks, {before.num_links} links, all ranks connected" in checked.stdout


def test_what_it_has_no_words_for_is_said_or_refused(tmp_path: Path) -> None:
    done = hocket("topology", "save", "dgx-h100:nodes=2,nvls=1", "-o", tmp_path / "a.infragraph.yaml")
    assert "note: InfraGraph does not say which switches compute: left out" in done.stdout
    random = "random:8,degree=2,seed=1,bandwidth=25/50GB/s,latency=1us"
    done = hocket("topology", "save", random, "-o", tmp_path / "b.infragraph.yaml")
    assert "has none like it back, and InfraGraph's edges go both ways" in done.stderr
    assert not (tmp_path / "b.infragraph.yaml").exists()


def test_collectives_run_on_it() -> None:
    done = hocket("simulate", "all_reduce", "-t", SPEC, "-s", "1MiB")
    assert done.returncode == 0, done.stderr
    assert "pair: 4 ranks, 44 links" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("device: server\n", "device: serves\n", r"pair.yaml:\d+: no device 'serves'; did you mean 'server'\?"),
        ("instance: host[1]", "instance: hosts[1]", r"pair.yaml:\d+: no instance 'hosts'; did you mean 'host'\?"),
        ("instance: host[1]", "instance: host[2]", r"pair.yaml:\d+: 'host\[2\]': there are 2, numbered from 0"),
        ("component: xpu[0:2]", "component: xpu[0:3]", r"pair.yaml:\d+: 'xpu\[0:3\]': there are 2, numbered from 0"),
        ("component: xpu[0:2]", "component: xpu[a]", r"pair.yaml:\d+: 'xpu\[a\]': expected a name with a slice"),
        ("component: xpu[0:2]", "component: xpus[0]", r"device server has no 'xpus\[0\]'; did you mean 'xpu'\?"),
        ("component: cx[0].asic[0]", "component: cx[0]", r"'cx\[0\]' is a device: name a component in it"),
        ("link: nvlink", "link: nvlinks", r"pair.yaml:\d+: no link 'nvlinks'; did you mean 'nvlink'\?"),
        ("choice: switch\n", "choice: swtich\n", r"pair.yaml:\d+: .*choice"),
        ("  count: 2\n", "  count: -1\n", r"pair.yaml:\d+: .*count"),
        ("  count: 2\n", "  cuont: 2\n", r"unknown key 'cuont'; did you mean 'count'\?"),
        ("gigabytes_per_second: 450", "gigabytes_per_second: -1", r"link nvlink: bandwidth -1 gigabytes_per_second"),
        ("    scheme: many2many", "    scheme: ring", r"scheme ring: expected one2one or many2many"),
    ],
)
def test_bad_input_names_line_and_remedy(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    path = tmp_path / "pair.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises((FormatError, TopologyError), match=message):
        load(f"infragraph:{path},pcie.bandwidth=57.6GB/s")


def test_what_links_lack_is_asked_for() -> None:
    with pytest.raises(FormatError, match=r"link pcie says giga-transfers, which without lanes .*pcie.bandwidth="):
        load(str(PAIR))
    with pytest.raises(FormatError, match=r"unknown key 'pcei\.bandwidth'; did you mean 'pcie\.bandwidth'"):
        load(f"infragraph:{PAIR},pcei.bandwidth=32GB/s")
    assert ("pcie", 32) in {(name, rate / GB) for *_, rate, name in links(load(f"infragraph:{PAIR},bandwidth=32GB/s"))}


def test_devices_in_themselves_end(tmp_path: Path) -> None:
    content = yaml.safe_load(TEXT)
    content["devices"][1]["components"].append({"name": "cx", "count": 1, "choice": "device"})
    path = tmp_path / "pair.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(TopologyError, match="device 'cx' is composed of itself"):
        load(f"infragraph:{path},pcie.bandwidth=57.6GB/s")


LINES = TEXT.splitlines(keepends=True)


@given(
    at=st.integers(0, len(LINES) - 1),
    what=st.sampled_from(["drop", "twice", "swap", "number", "word"]),
    value=st.one_of(st.integers(-5, 2**40).map(str), st.text("[]:.,xpu019 -{}'\"\n", max_size=12)),
)
@example(at=0, what="drop", value="")
@settings(max_examples=150, deadline=None)
def test_no_text_crashes_the_reader(tmp_path_factory: pytest.TempPathFactory, at: int, what: str, value: str) -> None:
    changed = [*LINES]
    key, colon, _ = changed[at].partition(":")
    if what == "drop":
        del changed[at]
    elif what == "twice":
        changed.insert(at, changed[at])
    elif what == "swap":
        changed[at - 1], changed[at] = changed[at], changed[at - 1]
    else:
        changed[at] = f"{key}{colon} {value}\n"
    path = tmp_path_factory.mktemp("infragraph") / "pair.yaml"
    path.write_text("".join(changed), encoding="utf-8")
    try:
        topology = load(f"infragraph:{path},pcie.bandwidth=57.6GB/s")
    except HocketError as error:
        assert "pair.yaml" in str(error)
    else:
        assert topology.num_ranks >= 2


def test_the_package_reads_what_is_written(tmp_path: Path) -> None:
    infragraph = pytest.importorskip("infragraph", reason="pip install infragraph")
    service = pytest.importorskip("infragraph.infragraph_service").InfraGraphService()
    hocket("topology", "save", "dgx-h100:nodes=2", "-o", tmp_path / "a.infragraph.yaml")
    infrastructure = infragraph.Infrastructure()
    infrastructure.deserialize((tmp_path / "a.infragraph.yaml").read_text())
    service.set_graph(infrastructure)
    topology = load("dgx-h100:nodes=2")
    graph = service.get_networkx_graph()
    assert (graph.number_of_nodes(), 2 * graph.number_of_edges()) == (topology.num_nodes, topology.num_links)
