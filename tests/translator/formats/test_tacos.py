"""TACOS' files: read as they were written, replayed as causality allows, and caught where they claim more."""

from functools import partial
from pathlib import Path

import in_process
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError, ScheduleError
from hocket.schedule import Collective, Kind, load, verify
from hocket.schedule.orders import LinkOrders
from hocket.topology import load as load_topology
from hocket.translator import read_tacos_csv, read_tacos_xml

# A star around rank 2, one chunk of 1 MiB a rank. The centre has a chunk of its own in the first slot, and gets two in
# that slot for every leaf: TACOS v1.1 sends both in the second.
STAR = {(0, 2): [0], (1, 2): [1], (2, 0): [2, 1, 3], (2, 1): [2, 0, 3], (2, 3): [2, 0, 1], (3, 2): [3]}
TOPOLOGY = """\
ranks: 4
links:
- {from: 0, to: 2, latency: 500ns, bandwidth: 50GiB/s, both: true}
- {from: 1, to: 2, latency: 500ns, bandwidth: 50GiB/s, both: true}
- {from: 3, to: 2, latency: 500ns, bandwidth: 50GiB/s, both: true}
"""
SLOT_PS = 500_000 + 2**20 * 10**12 // (50 * 2**30)  # 20.03125 us


def csv_text(orders: dict[tuple[int, int], list[int]], ranks: int, chunks: int) -> str:
    rows = [
        f"{src},{dst},500,50,{','.join(map(str, order)) or 'None'}\n" for (src, dst), order in sorted(orders.items())
    ]
    return (
        f"NPUs Count,{ranks}\nLinks Count,{len(orders)}\nChunks Count,{chunks}\nChunk Size,{2**20},B\n"
        f"SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n{''.join(rows)}"
    )


def xml_text(orders: dict[tuple[int, int], list[int]], ranks: int, chunks: int) -> str:
    """As v1.2.0 writes it: a thread block for every link at both of its ends, ingress first."""
    gpus = []
    for rank in range(ranks):
        ingress = [(ends, order) for ends, order in sorted(orders.items()) if ends[1] == rank]
        received = {
            chunk: (block, step) for block, (_, order) in enumerate(ingress) for step, chunk in enumerate(order)
        }
        blocks = []
        for ends, order in [*ingress, *((e, o) for e, o in sorted(orders.items()) if e[0] == rank)]:
            sends = ends[0] == rank
            peer = f'send="{ends[1]}" recv="-1"' if sends else f'send="-1" recv="{ends[0]}"'
            steps = ""
            for step, chunk in enumerate(order):
                block, deps = received.get(chunk, (-1, -1)) if sends else (-1, -1)
                forwarded = any(chunk in o for e, o in orders.items() if e[0] == rank) and not sends
                steps += (
                    f'\t\t\t<step s="{step}" type="{"s" if sends else "r"}" srcbuf="o" srcoff="{chunk}" dstbuf="o" '
                    f'dstoff="{chunk}" cnt="1" depid="{block}" deps="{deps}" hasdep="{int(forwarded)}" />\n'
                )
            blocks.append(f'\t\t<tb id="{len(blocks)}" {peer} chan="0">\n{steps}\t\t</tb>\n')
        gpus.append(f'\t<gpu id="{rank}" i_chunks="0" o_chunks="{chunks}" s_chunks="0">\n{"".join(blocks)}\t</gpu>\n')
    return (
        f'<algo name="tacos" proto="Simple" nchannels="1" nchunksperloop="{chunks}" ngpus="{ranks}" coll="allgather" '
        f'inplace="1" outofplace="0" minBytes="0" maxBytes="0">\n{"".join(gpus)}</algo>\n'
    )


@pytest.fixture
def star(tmp_path: Path) -> Path:
    (tmp_path / "star.yaml").write_text(TOPOLOGY)
    (tmp_path / "star.csv").write_text(csv_text(STAR, 4, 4))
    (tmp_path / "star.xml").write_text(xml_text(STAR, 4, 4))
    return tmp_path


hocket = partial(in_process.hocket, "verify")


def test_orders_are_replayed_one_chunk_at_a_time(star: Path) -> None:
    orders = read_tacos_csv(star / "star.csv")
    schedule = orders.replay()
    assert verify(schedule).num_transfers == 12
    assert schedule.time_ps == 3 * SLOT_PS  # three chunks over each leaf's one link
    assert orders.shared_time_ps() == 2 * SLOT_PS  # any number at once: two hops
    assert schedule.topology.bandwidth.tolist() == [50 * 2**30] * 6


def test_the_xml_has_the_same_orders(star: Path) -> None:
    orders = read_tacos_xml(star / "star.xml", load_topology(str(star / "star.yaml")), 4 * 2**20)
    assert orders.replay().time_ps == 3 * SLOT_PS


def test_chunks_are_numbered_round_by_round(tmp_path: Path) -> None:
    # two ranks with two chunks each: theirs are 0 and 2 of rank 0, 1 and 3 of rank 1; ours 0, 1 and 2, 3
    (tmp_path / "pair.csv").write_text(csv_text({(0, 1): [2, 0], (1, 0): [1, 3]}, 2, 4))
    orders = read_tacos_csv(tmp_path / "pair.csv")
    assert orders.chunk.tolist() == [1, 0, 2, 3]
    assert orders.replay().time_ps == 2 * SLOT_PS


def test_the_command_says_what_is_not_causal(star: Path) -> None:
    honest = hocket(star / "star.csv", "--claimed", "60.09375us", "-o", star / "honest.schedule")
    assert honest.returncode == 0, honest.stderr
    assert "the earliest causal execution of these orders" in honest.stdout
    assert "ratio 1.0000" in honest.stdout
    assert "not causal: with links never marked busy" in honest.stdout
    assert "rank 2 -> rank 0 alone is busy for 60.09 us with its 3 chunks" in honest.stdout
    assert load(star / "honest.schedule").time_ps == 3 * SLOT_PS

    for file in ("star.csv", "star.xml"):
        extra = () if file.endswith("csv") else ("--topology", star / "star.yaml", "--size", "4MiB")
        claimed = hocket(star / file, *extra, "--claimed", "40.0625us")
        assert claimed.returncode == 1
        assert "claimed 40.06 us, but no causal execution of the same orders ends before 60.09 us (+50.0%)" in (
            claimed.stderr
        )
        assert "over rank 2 -> rank" in claimed.stderr and "starts at 40.06 us" in claimed.stderr


def test_orders_that_nothing_can_execute() -> None:
    # rank 0 passes on rank 2's chunk before its own, rank 1 waits for rank 0's before it passes rank 2's on
    ring = load_topology("ring:3,bandwidth=50GiB/s,latency=500ns")
    link = {ends: at for at, ends in enumerate(zip(ring.src.tolist(), ring.dst.tolist(), strict=True))}
    order = [((0, 1), 2), ((0, 1), 0), ((1, 0), 2), ((2, 1), 0)]
    orders = LinkOrders(
        Collective(Kind.ALL_GATHER, 3, 3),
        ring,
        np.array([link[ends] for ends, _ in order], np.int32),
        np.array([chunk for _, chunk in order], np.int32),
        "test",
    )
    with pytest.raises(ScheduleError, match=r"no causal execution: rank 0 -> rank 1 .* is to send chunk 2 next"):
        orders.replay()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("NPUs Count,4", "NPUs Count,5"), "4 chunks are not the same number for each of 5 NPUs"),
        (("NPUs Count,4", "NPUs Count,999999999"), "6 links cannot connect 999999999 NPUs"),
        (("NPUs Count", "NPU Count"), ":1: expected `NPUs Count,...` as TACOS v1.1 writes it"),
        (("Links Count,6", "Links Count,7"), "6 lines of links, but Links Count is 7"),
        (("Chunks Count,4", "Chunks Count,8"), "12 transfers; 8 chunks to 3 others each are 24"),
        (("Chunk Size,1048576", "Chunk Size,0"), "chunks of 0 B"),
        (("0,2,500,50,0", "0,2,500,50,x"), ":6: expected source,destination,latency,bandwidth,chunks or None"),
        (("0,2,500,50,0", "0,9,500,50,0"), ":6: NPUs are 0..3"),
        (("0,2,500,50,0", "0,2,500,0,0"), "bandwidth"),
        (("0,2,500,50,0", "0,2,500,50,7"), "chunk 7 is sent, but there are chunks 0..3"),
    ],
)
def test_bad_files_name_the_line(star: Path, change: tuple[str, str], message: str) -> None:
    path = star / "star.csv"
    path.write_text(path.read_text().replace(*change))
    result = hocket(path)
    assert (result.returncode, message in result.stderr) == (3, True), result.stderr


def test_a_chunk_that_does_not_arrive_is_said(star: Path) -> None:
    path = star / "star.csv"
    path.write_text(path.read_text().replace("2,3,500,50,2,0,1", "2,3,500,50,2,0,2"))
    result = hocket(path)
    assert result.returncode == 1
    assert "chunk 1" in result.stderr and "rank 3" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("star.csv", "--topology", "ring:4"), "drop --topology and --size"),
        (("star.xml", "--topology", "ring:4"), "needs --topology and --size"),
        (("star.xml", "--claimed", "1us"), "are for TACOS' files"),
    ],
)
def test_usage(star: Path, arguments: tuple[str, ...], message: str) -> None:
    result = hocket(star / arguments[0], *arguments[1:])
    assert result.returncode == 2 and message in result.stderr


def test_a_topology_for_an_xml_of_msccl() -> None:
    xml = Path(__file__).parents[2] / "data" / "msccl_xml" / "all_reduce_all_pairs_4.xml"
    result = hocket(xml, "--topology", "ring:4,bandwidth=50GiB/s,latency=500ns", "--size", "4MiB")
    assert result.returncode == 3
    assert "for TACOS' files, named `tacos`; this is MSCCL's all_reduce: leave them out" in result.stderr


@pytest.mark.parametrize("size", [(), ("--size", "1MiB")])
def test_an_all_gather_of_another_tool_is_not_taken_for_one_of_tacos(size: tuple[str, ...], tmp_path: Path) -> None:
    ring, schedule, xml = "ring:4,bandwidth=10GB/s,latency=1us", tmp_path / "one.schedule", tmp_path / "one.xml"
    asked = ("synthesize", "all_gather", "-t", ring, "-s", "1MiB", "-o", schedule)
    for command in (asked, ("translate", schedule, "--to", "msccl", "-o", xml)):
        assert in_process.hocket(*command).returncode == 0
    result = hocket(xml, "--topology", ring, *size)
    assert result.returncode == 3, result.stdout
    assert "for TACOS' files, named `tacos`; this is MSCCL's all_gather: leave them out to prove it" in result.stderr


def test_an_xml_for_another_topology(star: Path) -> None:
    ring = "ring:4,bandwidth=50GiB/s,latency=500ns"
    result = hocket(star / "star.xml", "--topology", ring, "--size", "4MiB")
    assert result.returncode == 3
    assert "has no such link" in result.stderr


@given(st.data())
@settings(max_examples=150)
def test_mutated_files_never_crash(star: Path, data: st.DataObject) -> None:
    topology = load_topology(str(star / "star.yaml"))
    for text, name in ((csv_text(STAR, 4, 4), "mutated.csv"), (xml_text(STAR, 4, 4), "mutated.xml")):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(len(text), at + 6)))
        middle = data.draw(st.text(alphabet='0123456789,.-eN\n"<>x ', max_size=6))
        (star / name).write_text(text[:at] + middle + text[until:])
        try:
            if name.endswith("csv"):
                orders = read_tacos_csv(star / name)
            else:
                orders = read_tacos_xml(star / name, topology, 4 * 2**20)
            verify(orders.replay())
        except HocketError as error:
            assert str(error)


@given(st.binary(max_size=200))
def test_random_bytes_are_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "random.csv").write_bytes(content)
    with pytest.raises(HocketError):
        read_tacos_csv(tmp_path / "random.csv")
