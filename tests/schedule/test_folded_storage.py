"""Files of folded schedules, and rounds: read back equal, and never believed when anything in them is wrong."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import in_process
import msgspec
import numpy as np
import pytest
from folding import folded_schedules
from homes import LINK
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import (
    Collective,
    FoldedSchedule,
    Kind,
    Phase,
    Rounds,
    RoundShape,
    RoundSpool,
    Symmetry,
    TransferColumns,
    load,
    load_expanded,
    save,
    verify,
)
from hocket.topology import load as load_topology

N = 6
ROUND_PS = 500_000 + 20  # a byte over 500 ns and 50 GB/s, 20 ps a byte


def _columns(schedule: FoldedSchedule) -> list[list[list[int]]]:
    """The transfers of all phases."""
    blocks = [list(phase.transfers.blocks()) for phase in schedule.phases]
    return [
        [np.concatenate([getattr(block, name) for block in some]).tolist() for name in ("chunk", "route", "start_ps")]
        for some in blocks
        if some
    ]


def mesh_gather(path: Path | None = None) -> FoldedSchedule:
    """all_gather on a line of six ranks folded in the middle, in rounds: chunks walk to both ends."""
    topology = load_topology(f"mesh:{N},{LINK}")
    links = np.flatnonzero(topology.dst < N // 2).astype(np.int32)
    src, dst = topology.src[links], topology.dst[links]
    with RoundSpool(RoundShape(len(links), N, ROUND_PS), "test", path) as spool:
        for round_ in range(N - 1):
            # to the right goes the chunk of the rank `round_` steps to the left, to the left the other way round
            chunk = np.where(dst > src, src - round_, src + round_)
            able = np.flatnonzero((chunk >= 0) & (chunk < N))
            spool.writer.take(round_, able.astype(np.int32), chunk[able].astype(np.int32))
        phase = Phase(np.arange(len(links) + 1), links, spool.finish())
    return FoldedSchedule(
        Collective(Kind.ALL_GATHER, N, N), topology, Symmetry.flips(N), (phase,), True, None, "test", 3
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folded") / "rounds.schedule"
    save(mesh_gather(), path)
    return path


def test_rounds_do_an_all_gather(file: Path) -> None:
    schedule = load(file)
    assert isinstance(schedule, FoldedSchedule)
    assert isinstance(schedule.phases[0].transfers, Rounds)
    # 5 chunks into each of 6 ranks, in 5 rounds; the flip leaves 3 of the ranks
    assert (schedule.num_representatives, schedule.num_transfers) == (15, 30)
    assert schedule.time_ps == 5 * ROUND_PS
    assert verify(schedule).describe() == verify(mesh_gather()).describe()
    expanded = load_expanded(file)
    assert verify(expanded).describe() == verify(schedule).describe()
    # the innermost links carry a chunk in three rounds, the outermost to the end in all five
    assert schedule.busiest_link_ps == 5 * 20 - 1


@settings(max_examples=60)
@given(schedule=folded_schedules())
def test_reads_back_what_was_written(tmp_path: Path, schedule: FoldedSchedule) -> None:
    save(schedule, tmp_path / "a.schedule")
    read = load(tmp_path / "a.schedule")
    assert isinstance(read, FoldedSchedule)
    assert _columns(read) == _columns(schedule)
    for name in ("symmetry", "blocking", "bound", "generator", "seed", "num_transfers", "time_ps"):
        assert getattr(read, name) == getattr(schedule, name), name
    assert verify(read).describe() == verify(schedule).describe()
    save(read, tmp_path / "again.schedule")
    assert (tmp_path / "again.schedule").read_bytes() == (tmp_path / "a.schedule").read_bytes()


@settings(max_examples=200)
@given(st.data())
def test_every_changed_byte_is_noticed(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "mutated.schedule"
    path.write_bytes(content)
    try:
        read = load(path)
        save(read, tmp_path / "again.schedule")
        verify(read)
    except FormatError:
        return
    # Only the padding between the arrays may differ.
    assert (tmp_path / "again.schedule").read_bytes() == file.read_bytes()


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=8),
    st.lists(st.integers(0, 9), max_size=3),
    st.lists(st.sampled_from(["shift", "flip", "stay", "swing"]), max_size=2),
)


@settings(max_examples=300)
@given(st.data())
def test_a_forged_header_is_an_error_or_harmless(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    magic, length, _ = struct.unpack_from("<8sQI", content)
    header = msgspec.json.decode(content[20 : 20 + length])
    (phase,) = header["folded"]["phases"]
    place = data.draw(st.sampled_from([header, header["collective"], header["folded"], phase, phase["rounds"]]))
    key = data.draw(st.sampled_from([*place, "unknown"]))
    value = data.draw(_VALUES)
    if key in ("num_ranks", "num_nodes", "chunks_per_rank") and isinstance(value, int):
        value %= 1000  # a right checksum over a huge machine would only be slow
    place[key] = value
    try:
        text = msgspec.json.encode(header)
    except (OverflowError, msgspec.EncodeError):
        return
    path = tmp_path / "forged.schedule"
    path.write_bytes(struct.pack("<8sQI", magic, len(text), zlib.crc32(text)) + text + content[20 + length :])
    try:
        read = load(path)
        verify(read)
        load_expanded(path)
    except (FormatError, ScheduleError) as error:
        assert str(error)
    else:
        harmless = ("bound", "generator", "seed", "timed", "blocking", "size_bytes", "name", "notes", "root", "classes")
        assert key in harmless or place[key] == value


def test_a_spool_keeps_whole_rounds_of_the_same_search(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    whole = mesh_gather(path).phases[0].transfers
    assert isinstance(whole, Rounds)
    (block,) = whole.blocks()
    last = block.start_ps == 4 * ROUND_PS
    content = path.read_bytes()
    # without the last byte the last round is torn
    path.write_bytes(content[:-1])
    shape = RoundShape(5, N, ROUND_PS)
    with RoundSpool(shape, "test", path) as spool:
        assert (spool.done.num_rounds, spool.done.num_transfers) == (4, 14)
        spool.writer.take(4, block.route[last], block.chunk[last])
        again = spool.finish()
    assert path.read_bytes() == content
    assert (again.num_rounds, again.num_transfers) == (5, 15)
    with pytest.raises(HocketError, match="another search"):
        RoundSpool(shape, "another", path)


@pytest.mark.parametrize(
    ("round_", "routes", "chunks", "message"),
    [
        (0, [0], [1], "round 0 must come after"),
        (1, [0, 1], [1], "a chunk for each"),
        (1, [1, 0], [1, 2], "ascend"),
        (1, [5], [1], "exist"),
        (1, [0], [N], "exist"),
        (1, [0], [-1], "exist"),
    ],
)
def test_a_spool_takes_only_what_fits(round_: int, routes: list[int], chunks: list[int], message: str) -> None:
    with RoundSpool(RoundShape(5, N, 1), "test") as spool, pytest.raises(ScheduleError, match=message):
        spool.writer.take(0, np.array([2], np.int32), np.array([0], np.int32))
        spool.writer.take(round_, np.array(routes, np.int32), np.array(chunks, np.int32))


def test_ids_take_two_bytes_where_that_is_enough() -> None:
    for num_chunks, width in ((2**16, 2), (2**16 + 1, 4)):
        with RoundSpool(RoundShape(9, num_chunks, 1), "test") as spool:
            spool.writer.take(0, np.array([0, 8], np.int32), np.array([1, num_chunks - 1], np.int32))
            rounds = spool.finish()
        # head 16, a bit for each of 9 routes 2
        assert rounds.size == 16 + 2 + 2 * width
        (block,) = rounds.blocks()
        assert (block.route.tolist(), block.chunk.tolist()) == ([0, 8], [1, num_chunks - 1])


def test_says_how_much_memory_spelling_out_would_take(file: Path) -> None:
    schedule = load(file)
    assert isinstance(schedule, FoldedSchedule)
    with pytest.raises(ScheduleError, match=r"30 transfers, which take 1.758 KiB of memory .* \(limit 1000 B"):
        schedule.expand(1000)


def test_mutated_rounds_columns_are_refused_like_columns(file: Path) -> None:
    schedule = load(file)
    assert isinstance(schedule, FoldedSchedule)
    (block,) = schedule.phases[0].transfers.blocks()
    wrong = TransferColumns(block.chunk[::-1].copy(), block.route, block.start_ps)
    with pytest.raises(ScheduleError, match="does not hold the chunk"):
        verify(replace(schedule, phases=(replace(schedule.phases[0], transfers=wrong),)))


_hocket = in_process.hocket


def test_commands_take_folded_files(file: Path, tmp_path: Path) -> None:
    proved = _hocket("verify", str(file))
    assert proved.returncode == 0, proved.stderr
    assert "proved: 30 transfers" in proved.stdout
    predicted = _hocket("simulate", str(file))
    assert predicted.returncode == 0, predicted.stderr
    content = bytearray(file.read_bytes())
    content[-1] ^= 1  # in the last round
    damaged = tmp_path / "damaged.schedule"
    damaged.write_bytes(content)
    found = _hocket("verify", str(damaged))
    assert found.returncode == 3
    assert "is damaged (its checksum differs)" in found.stderr


def test_verify_refutes_a_wrong_folded_file(file: Path, tmp_path: Path) -> None:
    schedule = load(file)
    assert isinstance(schedule, FoldedSchedule)
    save(replace(schedule, symmetry=Symmetry()), tmp_path / "half.schedule")
    found = _hocket("verify", str(tmp_path / "half.schedule"))
    assert found.returncode == 1
    # without the flip nobody sends rank 3 of the other half anything
    assert "NOT PROVED: transfer 8 (chunk 4, rank 3 -> 2, 500020..1000040): rank 3 does not hold" in found.stderr
