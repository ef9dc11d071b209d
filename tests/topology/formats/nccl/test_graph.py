"""NCCL's graph files: every kind of channels read, written as NCCL does, and refused with line and remedy."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError
from hocket.topology.formats.nccl.graph import GraphId, GraphPattern, graphs_text, read_nccl_graphs

HEAD = (
    'crossnic="0" nchannels="{}" speedintra="40" speedinter="48.5" latencyinter="0.5" typeintra="NVL" typeinter="PXN"'
)
# in the order and form in which NCCL 2.30 dumps them: hexadecimal devices, no CollNet
TEXT = f"""\
<graphs version="1">
  <graph id="0" pattern="4" {HEAD.format(2)} samechannels="0">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="0"/>
      <gpu dev="0xa" rank="1"/>
      <net dev="0xb"/>
    </channel>
    <channel>
      <net dev="0xb"/>
      <gpu dev="0xa" rank="1"/>
      <gpu dev="0" rank="0"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="4" pattern="6" {HEAD.format(0)} samechannels="1"/>
  <graph id="3" pattern="5" {HEAD.format(1)} samechannels="0">
    <channel>
      <net dev="0"/>
      <gpu dev="0xa" rank="1"/>
      <net dev="0"/>
    </channel>
  </graph>
</graphs>
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "graph.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_kinds_are_read(tmp_path: Path) -> None:
    graphs = read_nccl_graphs(write(tmp_path, TEXT))
    assert [(graph.id, graph.pattern, len(graph.channels)) for graph in graphs.graphs] == [
        (GraphId.RING, GraphPattern.RING, 2),
        (GraphId.COLLNET_DIRECT, GraphPattern.COLLNET_DIRECT, 0),
        (GraphId.NVLS, GraphPattern.NVLS, 1),
    ]
    ring, nvls = graphs.get(GraphId.RING), graphs.get(GraphId.NVLS)
    assert ring is not None
    assert nvls is not None
    assert (ring.speed_intra, ring.speed_inter, ring.latency_inter) == (40, 48.5, 0.5)
    assert (ring.type_intra, ring.type_inter, ring.same_channels) == ("NVL", "PXN", False)
    assert (ring.channels[0].gpus, ring.channels[0].ranks, ring.channels[0].nets) == ((0, 10), (0, 1), (0, 11))
    assert nvls.channels[0].gpus == (10,)
    assert graphs.get(GraphId.TREE) is None


def test_what_is_written_is_what_nccl_writes(tmp_path: Path) -> None:
    assert graphs_text(read_nccl_graphs(write(tmp_path, TEXT))) == TEXT


@pytest.mark.shared
def test_azures_file(shared: Path, tmp_path: Path) -> None:
    """Without ranks, for any job on such a machine; written and read again it is the same but for the lines."""
    graphs = read_nccl_graphs(shared / "nccl_topology" / "azure" / "ncv4-graph.xml")
    found = [(int(graph.id), int(graph.pattern), len(graph.channels)) for graph in graphs.graphs]
    assert found == [(0, 4, 2), (1, 1, 4), (2, 3, 4)]
    again = read_nccl_graphs(write(tmp_path, graphs_text(graphs)))
    for one, other in zip(graphs.graphs, again.graphs, strict=True):
        channels = tuple(replace(channel, line=0) for channel in one.channels)
        assert channels == tuple(replace(channel, line=0) for channel in other.channels)
        assert replace(one, line=0, channels=()) == replace(other, line=0, channels=())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('version="1"', 'version="2"', r"graph.xml:1: <graphs version=\"2\">: known is 1"),
        ("graphs", "system", r":1: expected <graphs>, found <system>; a topology file"),
        ('id="0" pattern="4"', 'id="5" pattern="4"', r":2: <graph>: id=\"5\": known are 0 ring, 1 tree"),
        ('id="0" pattern="4"', 'id="0" pattern="1"', r":2: <graph>: id 0 has pattern 4, not 1"),
        ('id="3" pattern="5"', 'id="0" pattern="4"', r":17: <graph> id 0 is on line 2 already"),
        ('nchannels="2"', 'nchannels="3"', r":2: <graph>: nchannels=\"3\" and 2 <channel>"),
        ('speedintra="40"', 'speedintra="40 GB/s"', r":2: <graph>: speedintra=\"40 GB/s\" is not a number"),
        ('speedintra="40"', 'speedintra="40000"', r":2: <graph>: speedintra=40000: expected GB/s of a channel"),
        ('speedintra="40"', 'speedintra="0"', r":2: <graph>: speedintra=0: expected GB/s"),
        ('typeintra="NVL"', 'typeintra="NVLINK"', r":2: <graph>: typeintra=\"NVLINK\": expected one of \"LOC\""),
        (' samechannels="0"', "", r":2: <graph>: has no samechannels"),
        ('<gpu dev="0" rank="0"/>', '<gpu rank="0"/>', r":5: <gpu>: has no dev"),
        ('<gpu dev="0" rank="0"/>', '<gpu dev="mlx5_0" rank="0"/>', r":5: <gpu>: dev=\"mlx5_0\" is not a hexadecimal"),
        ('<gpu dev="0" rank="0"/>', '<gpu dev="0xa" rank="0"/>', r":6: <gpu> dev 10 is in its channel already"),
        ('<gpu dev="0" rank="0"/>', '<gpu dev="0" rank="1"/>', r":6: <gpu> rank 1 is in its channel already"),
        ('<gpu dev="0" rank="0"/>', '<gpu dev="0"/>', r":3: <channel>: 1 of its 2 GPUs have a rank"),
        (
            '<gpu dev="0" rank="0"/>',
            '<gpu dev="1" rank="0"/>',
            r":9: <channel>: its GPUs are others than those of line 3",
        ),
        (
            '      <net dev="0xb"/>\n    </channel>',
            "    </channel>",
            r":3: <channel>: expected no <net>, or one before",
        ),
        ("<channel>", "<ring>", r":3: <ring> in <graph> of line 2: expected <channel>"),
    ],
)
def test_what_nccl_would_take_wrongly_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TEXT.replace(old, new) if old in ("graphs", "<channel>") else TEXT.replace(old, new, 1)
    with pytest.raises(FormatError, match=message):
        read_nccl_graphs(write(tmp_path, text.replace("</channel>", "</ring>") if new == "<ring>" else text))


@settings(max_examples=100)
@given(data=st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT)))
    cut = data.draw(st.integers(0, 30))
    noise = data.draw(st.text(alphabet='<>/="-0xg \n', max_size=4))
    path = write(tmp_path_factory.getbasetemp(), TEXT[:at] + noise + TEXT[at + cut :])
    try:
        graphs = read_nccl_graphs(path)
    except HocketError as error:
        assert str(path) in str(error)
    else:
        assert graphs_text(graphs)
