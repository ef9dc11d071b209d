"""Files of other tools: NCCL's graph files, TACCL's and ForestColl's ways to write MSCCL XML."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError
from hocket.schedule import Collective, Kind, verify
from hocket.topology import load
from hocket.translator import judge, nccl_graph, read_document, read_nccl_graph, read_ring_orders, rings

MESH = load("fully_connected:4,bandwidth=50GB/s,latency=500ns")
CHANNELS = [(0, 1, 2, 3), (0, 3, 2, 1), (2, 0, 3, 1)]


def graph(channels: list[tuple[int, ...]], pattern: int = 4) -> str:
    inside = "\n".join(
        f"<channel>{''.join(f'<gpu dev={chr(34)}{gpu}{chr(34)}/>' for gpu in order)}</channel>" for order in channels
    )
    attributes = (
        f'id="{int(pattern != 4)}" pattern="{pattern}" crossnic="0" nchannels="{len(channels)}" samechannels="1"'
    )
    attributes += ' speedintra="12" speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PIX"'
    return f'<graphs version="1">\n<graph {attributes}>\n{inside}\n</graph>\n</graphs>\n'


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_rings_are_read_and_do_the_collective(tmp_path: Path, kind: Kind) -> None:
    (tmp_path / "g.xml").write_text(graph(CHANNELS))
    assert read_ring_orders(tmp_path / "g.xml") == CHANNELS
    schedule = read_nccl_graph(tmp_path / "g.xml", Collective(kind, 4, 12000, 3), MESH)
    verify(schedule)
    # n-1 hops (all_reduce: twice) of each rank's 3 chunks
    assert schedule.num_transfers == 4 * 3 * 3 * (2 if kind is Kind.ALL_REDUCE else 1)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "g.xml").write_text(graph(CHANNELS[:2]))
    schedule = read_nccl_graph(tmp_path / "g.xml", Collective(Kind.ALL_GATHER, 4, 8000, 2), MESH)
    (tmp_path / "again.xml").write_text(nccl_graph(schedule))
    assert read_ring_orders(tmp_path / "again.xml") == rings(schedule) == CHANNELS[:2]


@pytest.mark.shared
def test_azures_graph_file_is_read(shared: Path) -> None:
    orders = read_ring_orders(shared / "nccl_topology" / "azure" / "ncv4-graph.xml")
    assert orders == [(0, 1, 2, 3), (0, 3, 2, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (graph(CHANNELS, pattern=1), "expected <graph id"),
        (graph([(0, 1, 1, 2)]), "each is there once"),
        (graph([(0, 1, 2), (0, 1, 3)]), "all channels have all"),
        ("<system/>", "a topology file .NCCL_TOPO_FILE. holds a machine"),
        (graph(CHANNELS).replace("<channel>", "<channel", 1), "g.xml:3: expected an element"),
    ],
)
def test_what_has_no_rings_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "g.xml").write_text(text)
    with pytest.raises(FormatError, match=expected):
        read_ring_orders(tmp_path / "g.xml")


def test_rings_must_be_of_all_ranks_and_have_chunks(tmp_path: Path) -> None:
    (tmp_path / "g.xml").write_text(graph(CHANNELS))
    for ranks, chunks in ((3, 3), (4, 2)):
        with pytest.raises(HocketError, match=r"order of all 3 ranks|3 rings need as many chunks"):
            read_nccl_graph(tmp_path / "g.xml", Collective(Kind.ALL_GATHER, ranks, 12000, chunks), MESH)


@given(st.integers(0, 200), st.integers(0, 4), st.text(alphabet='<>/="1 \n', max_size=3))
def test_damaged_graph_files_are_read_or_refused(at: int, removed: int, inserted: str) -> None:
    text = graph(CHANNELS)
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text[:at] + inserted + text[at + removed :])
        file.flush()
        try:
            assert read_ring_orders(file.name)
        except FormatError as error:
            assert str(error)


STEP = '<step s="0" type="{}" srcbuf="o" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1" depid="-1" deps="-1" hasdep="0" />'


def exchange(head: str, note: str) -> str:
    """Two ranks that send each other their chunk."""
    gpus = "".join(
        f'<gpu id="{rank}" i_chunks="0" o_chunks="2" s_chunks="0">'
        f'<tb id="0" send="{1 - rank}" recv="-1" chan="0">{note}{STEP.format("s", rank, rank)}</tb>'
        f'<tb id="1" send="-1" recv="{1 - rank}" chan="0">{note}{STEP.format("r", 1 - rank, 1 - rank)}</tb></gpu>'
        for rank in (0, 1)
    )
    return f'<algo name="x" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" {head}>{gpus}</algo>'


def test_taccls_files_are_msccls_alone() -> None:
    # no outofplace, minBytes, maxBytes; redop="nop", which nobody reads
    document = read_document(exchange('coll="allgather" inplace="1" redop="nop"', ""), "x")
    assert [judge(document, runtime).good for runtime in ("msccl", "executor", "rccl")] == [True, False, False]
    assert "outofplace" in judge(document, "executor").reasons[-1]


def test_forestcolls_files_run_on_all() -> None:
    # comments inside thread blocks, sizes up to a TiB, a space before />
    head = 'coll="allgather" inplace="1" outofplace="0" minBytes="0" maxBytes="1099511627776"'
    document = read_document(exchange(head, "<!--AG, node0, root0, index0, chunks1, inst0-->"), "x")
    assert all(judge(document, runtime).good for runtime in ("msccl", "executor", "rccl"))
