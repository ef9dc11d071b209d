"""Reads streams that are torn, lost in part, of other versions, or written by several threads at once."""

import os
import sys
import threading
import time
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import END, Record, call, done, group, lines, meta, wait, write

from hocket.base.errors import FormatError, HocketError
from hocket.chakra import read_traces
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording
from hocket.recording.stream import MappedStream
from hocket.simulator import simulate_traces
from hocket.topology import load


def test_a_torn_last_line_is_forgiven_and_a_torn_middle_is_not(tmp_path: Path) -> None:
    records = [meta(0, world=1), group([0]), call(0, 0), wait(0, 0, 9)]
    path = write(tmp_path, 0, *records, tail="c 1 0 1 5")
    assert len(read_recording(path)) == 1
    # A job that starts anew in the same file does so on a new line.
    write(tmp_path, 0, *records, tail="c 1 0\n" + lines(*records))
    assert len(read_recording(path)) == 1
    write(tmp_path, 0, *records, tail="c 1 0\n" + lines(END))
    with pytest.raises(FormatError, match=r"rank0.stream:6: not a line"):
        read_recording(path)


def test_lines_survive_a_kill_and_a_new_session_follows_them(tmp_path: Path) -> None:
    path = stream_path(tmp_path, 0)
    killed = MappedStream(path)
    killed.write(lines(meta(0, world=1, job="old"), group([0]), call(0, 0)))
    long = "x" * 3000
    for number in range(1000):  # past the space reserved at once
        killed.write(lines({"k": "step", "n": number, "t": 0, "pad": long}))
    assert len(read_recording(path).steps) == 1000  # never closed

    restarted = MappedStream(path)
    restarted.write(lines(meta(0, world=1), group([0]), call(0, 0), wait(0, 0, 9)))
    restarted.close()
    restarted.write("dropped\n")
    assert read_recording(path).job == "j"
    assert path.read_bytes().endswith(b"\nw 0 0 9 1\n")


def test_a_stream_of_another_version_is_named(tmp_path: Path) -> None:
    old = meta(0)
    del old["format"]
    path = write(tmp_path, 0, old, {"k": "collective", "id": 0, "op": "allreduce_"})
    with pytest.raises(FormatError, match=r"rank0.stream: a stream of format 1, this version of Hocket reads 3"):
        read_recording(path)


def test_an_operation_that_is_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="refers to an operation 'melt_' that Hocket does not know"):
        read_recording(write(tmp_path, 0, meta(0), group([0, 1]), call(0, 0, op="melt_")))


def test_calls_without_a_description_are_counted_and_the_rest_merged(tmp_path: Path) -> None:
    """Rank 1 lost the line of the shape that calls 2 and 3 have, and that of the group of call 4."""
    for rank in (0, 1):
        calls = [[call(n, 100 * n), wait(n, 100 * n, 100 * n + 50)] for n in range(3)]
        calls += [["c 3 2 3 300 1", wait(3, 300, 350)], [call(4, 400, seq=0, group=1), wait(4, 400, 450)]]
        groups = [group([0, 1]), group([0, 1], 1, "other", order=1)]
        if rank == 1:
            del calls[2][0][0], groups[1]
        write(tmp_path, rank, meta(rank), *groups, *chain(*calls), END)
    summary = merge(tmp_path)
    assert summary.mismatches[0].problem == "lost"
    assert summary.mismatches[0].message == "rank 1: 3 calls are without description, from sequence 2 on"
    assert [(row.rank, row.operations) for row in summary.ranks] == [(0, 5), (1, 2)]
    assert [(cut.rank, cut.left_out) for cut in summary.cuts] == [(0, 3)]  # what rank 1 cannot answer
    simulate_traces(read_traces(tmp_path), load("ring:2,bandwidth=50GB/s,latency=500ns"))


def test_a_page_that_never_reached_the_disk_is_told_and_the_rest_merged(tmp_path: Path) -> None:
    """Zero bytes in place of all between the middle of call 1's line and that of call 2's."""
    calls = [[call(n, 100 * n)[1], wait(n, 100 * n, 100 * n + 50)] for n in range(4)]
    path = write(tmp_path, 0, meta(0, world=1), group([0]), call(0, 0)[0], *chain(*calls), END)
    text = path.read_text().replace("c 1 1 ", "c 1 0 ").replace("c 2 2 ", "c 2 0 ").replace("c 3 3 ", "c 3 0 ")
    begin, end = text.index("1 0 1 100"), text.index("2 200")
    path.write_text(text[:begin] + "\0" * (end - begin) + text[end:])
    recording = read_recording(path)
    assert recording.lost == (
        "torn lines in its stream: 1",
        "a line refers to an operation 2 that no line tells of",
    )
    assert recording.columns.start.tolist() == [0, 300]


def test_an_operation_whose_line_is_lost_is_told_and_the_rest_merged(tmp_path: Path) -> None:
    """Rank 1 lost the line of its second call, not what is told of it: one of its three is missing."""
    backward: Record = {"k": "backward", "ids": [1, 2], "t0": 250, "t1": 260, "thread": 1}
    for rank in (0, 1):
        calls = [[call(n, 100 * n), wait(n, 100 * n, 100 * n + 50), done(n, 100 * n + 40)] for n in range(3)]
        if rank == 1:
            calls[1][0] = calls[1][0][:1]
        write(tmp_path, rank, meta(rank), group([0, 1]), *chain(*calls), backward, END)
    (told, *others) = merge(tmp_path).mismatches
    assert told.message.startswith("rank 1: ")
    assert told.message.endswith("a line refers to an operation 1 that no line tells of")
    assert [mismatch.problem for mismatch in others] == ["missing"]
    assert len(read_recording(stream_path(tmp_path, 1))) == 2


@pytest.mark.parametrize("letter", ["d 7 9", "w 7 9 1 1", "a 7 9 1 1 0", "b 7 0", "s 7 0"])
def test_whatever_refers_to_a_lost_operation_is_left_out(tmp_path: Path, letter: str) -> None:
    recording = read_recording(write(tmp_path, 0, meta(0), group([0, 1]), call(0, 0), letter, "d 8 9"))
    assert len(recording) == 1
    assert recording.lost == ("a line refers to an operation 7 and 1 more that no line tells of",)


def test_a_line_written_while_another_thread_makes_room_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = MappedStream(tmp_path / "stream")
    make_room, shorter = os.posix_fallocate, threading.Thread(target=lambda: stream.write("short\n"))

    def is_in_write() -> bool:
        frame = sys._current_frames().get(shorter.ident or 0)
        return frame is not None and frame.f_code is MappedStream.write.__code__

    def make_room_slowly(*arguments: int) -> None:
        shorter.start()
        while shorter.is_alive() and not is_in_write():  # its line comes meanwhile
            time.sleep(0.001)
        make_room(*arguments)

    filler = "x" * ((1 << 20) - 10) + "\n"  # room for the short line is left, for the long one not
    stream.write(filler)
    monkeypatch.setattr(os, "posix_fallocate", make_room_slowly)
    stream.write("the long line\n")
    shorter.join()
    stream.close()
    assert sorted((tmp_path / "stream").read_text().split()) == sorted([filler.strip(), "the", "long", "line", "short"])


@given(st.data())
def test_a_broken_stream_gives_one_clear_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    records = [meta(0, world=1), group([0]), call(0, 0), wait(0, 0, 9), done(0, 5), END]
    path = write(folder, 0, *records)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        merge(folder)
    except HocketError as error:
        assert str(folder) in str(error)
