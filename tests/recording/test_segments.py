"""Streams in segments: each readable alone, the oldest dropped and counted, the rest merged without false alarms."""

from pathlib import Path

import in_process
import pytest
import streams
from streams import END, done, meta, wait

from hocket.base.errors import FormatError
from hocket.recording.folder import stream_path, stream_paths
from hocket.recording.merge import merge
from hocket.recording.pinning import window_folder
from hocket.recording.recording import read_recording
from hocket.recording.segments import SegmentedStream, segment_paths
from hocket.recording.sessions import parts_of
from hocket.recording.stream_follower import Follower
from hocket.recording.tables import render
from hocket.recording.windows import Windows

CAP = 1 << 16


class Rank:
    """Writes as a hook does: shapes anew in each segment, `per_step` calls a step."""

    def __init__(self, folder: Path, rank: int, cap: int = CAP) -> None:
        self.stream = SegmentedStream(stream_path(folder, rank), cap)
        self.stream.keep(streams.lines(meta(rank)))
        self.stream.keep(streams.lines(streams.group([0, 1])))
        self.described = -1
        self.next_id = self.step = self.sequence = self.replays = 0
        self.shape = -1

    def call(self, open_ended: bool = False) -> None:
        self.stream.make_room()
        if self.described != self.stream.generation:
            self.described = self.stream.generation
            self.shape += 1
            self.stream.write(streams.lines(streams.call(self.shape, 0)[:1]))
        identifier, t = self.next_id, 1000 * self.next_id
        self.stream.write(streams.lines(f"c {identifier} {self.shape} {self.sequence} {t} 1"))
        self.next_id, self.sequence = self.next_id + 1, self.sequence + 1
        if not open_ended:
            self.end(identifier)

    def end(self, identifier: int) -> None:
        t = 1000 * identifier
        self.stream.write(streams.lines(done(identifier, t + 500), wait(identifier, t + 100, t + 500)))

    def capture(self, graph: int, count: int) -> str:
        """A graph of so many calls on a device; the line of it."""
        line = streams.lines(streams.captured(graph, count, stream=7))
        self.stream.keep(line)
        self.sequence += count
        return line

    def replay(self, count: int, graph: int = 0) -> None:
        t, told = 1000 * self.next_id - 50, {"k": "replay", "n": self.replays, "graph": graph, "thread": 1}
        self.stream.write(
            streams.lines(told | {"t0": t, "t1": t + 9, "calls": count, "bases": [[0, self.sequence, count]]})
        )
        self.replays, self.sequence = self.replays + 1, self.sequence + count

    def in_new_segment(self) -> None:
        self.stream.begin_part("", self.step)

    def end_step(self) -> None:
        self.stream.end_step(self.step, 1000 * self.next_id - 100)
        self.step += 1

    def close(self) -> None:
        self.stream.write(streams.lines(END))
        self.stream.close()


def test_streams_stay_within_their_cap_and_count_what_they_drop(tmp_path: Path) -> None:
    caps = (CAP, 2 * CAP)  # so that what the ranks still have is not the same
    ranks = [Rank(tmp_path, rank, cap) for rank, cap in enumerate(caps)]
    for number in range(6000):
        for rank in ranks:
            rank.call()
            if number % 10 == 9:
                rank.end_step()
    used = [sum(path.stat().st_blocks * 512 for path in segment_paths(stream_path(tmp_path, rank))) for rank in (0, 1)]
    assert [space <= cap for space, cap in zip(used, caps, strict=True)] == [True, True], used
    for rank in ranks:
        rank.close()
    assert sorted(stream_paths(tmp_path)) == [stream_path(tmp_path, 0), stream_path(tmp_path, 1)]
    recordings = [read_recording(stream_path(tmp_path, rank)) for rank in range(2)]
    assert [recording.dropped + len(recording) for recording in recordings] == [6000, 6000]
    assert recordings[0].lost == recordings[1].lost == ()
    assert recordings[0].dropped != recordings[1].dropped
    summary = merge(tmp_path)
    assert summary.problems() == ["all ranks recorded, all collectives complete, no disagreement between ranks"]
    kept = [6000 - row.by_cap - row.uncommon for row in summary.dropped]
    assert kept[0] == kept[1] == summary.kinds[0].count > 400
    assert kept[0] % 10 == 0  # whole steps
    assert "calls by the cap" in render(summary)
    assert [what.endswith("are not recorded: the cap in bytes took them") for what in summary.unseen] == [True, True]


def test_a_head_larger_than_a_segment_leaves_room_for_calls(tmp_path: Path) -> None:
    rank = Rank(tmp_path, 0)
    rank.stream.keep(streams.lines(streams.group(list(range(2500)), 1)))
    assert len("".join(rank.stream._head)) > CAP // 8
    for _ in range(6000):
        rank.call()
    used = sum(path.stat().st_blocks * 512 for path in segment_paths(stream_path(tmp_path, 0)))
    rank.close()
    recording = read_recording(stream_path(tmp_path, 0))
    assert used <= CAP
    assert recording.dropped + len(recording) == 6000 and len(recording) > 200
    assert rank.stream.generation < 100


def test_what_is_kept_while_the_job_runs_does_not_grow_with_it(tmp_path: Path) -> None:
    rank = Rank(tmp_path, 0)
    for _ in range(500):
        rank.call()
    kept = in_process.hocket("collect", "trigger", str(tmp_path), "--now")
    assert kept.returncode == 0, kept.stderr
    for _ in range(500):
        rank.call()
    rank.close()
    merge(window_folder(tmp_path, "now1"))
    recording = read_recording(stream_path(window_folder(tmp_path, "now1"), 0))
    assert recording.dropped + len(recording) == 500 and not recording.ended


def test_each_segment_can_be_read_alone(tmp_path: Path) -> None:
    rank = Rank(tmp_path, 0)
    for _ in range(2000):
        rank.call()
    rank.close()
    counts = []
    for path in segment_paths(stream_path(tmp_path, 0)):
        alone = stream_path(tmp_path / path.stem, 0)
        alone.parent.mkdir(parents=True)
        path.rename(alone.with_name(path.name))
        recording = read_recording(alone)
        assert recording.lost == ()
        counts.append(len(recording))
    assert len(counts) > 3
    assert min(counts) > 0


def test_a_window_is_merged_while_the_job_goes_on_and_nothing_is_lost(tmp_path: Path) -> None:
    ranks = [Rank(tmp_path, rank, cap=0) for rank in range(2)]
    for part in ("1", "2"):
        for rank in ranks:
            rank.stream.begin_part(part, rank.step)
            for _ in range(20):
                rank.call()
                rank.end_step()
            rank.call(open_ended=True)
    for rank in ranks:
        rank.stream.begin_part("", rank.step)
        rank.end(41)  # of the second window, after its end
    assert parts_of(stream_path(tmp_path, 0)) == ["1", "2"]
    summary = merge(tmp_path, part="2")
    assert summary.problems() == ["all ranks recorded, all collectives complete, no disagreement between ranks"]
    assert summary.kinds[0].count == 21
    assert (summary.steps, summary.dropped) == (20, ())
    assert (tmp_path / "windows" / "2" / "trace.1.et").exists()
    assert not (tmp_path / "trace.1.et").exists()
    assert "rank 0: all_reduce #20 of 0 did not end" in "\n".join(merge(tmp_path, part="1").problems())
    with pytest.raises(FormatError, match=r"rank0.stream: nothing of window 3; it has windows 1, 2"):
        merge(tmp_path, part="3")


def test_a_call_may_end_several_segments_after_its_window(tmp_path: Path) -> None:
    rank = Rank(tmp_path, 0)
    rank.stream.begin_part("1", 0)
    rank.call(open_ended=True)
    rank.call()
    rank.stream.begin_part("", 1)
    rank.call()
    rank.stream.begin_part("2", 2)
    rank.call()
    rank.end(0)
    rank.close()
    columns = read_recording(stream_path(tmp_path, 0), "1").columns
    assert columns.end.tolist() == columns.wait_end.tolist() == [500, 1500]


def test_a_follower_goes_from_segment_to_segment(tmp_path: Path) -> None:
    rank = Rank(tmp_path, 0)
    follower = Follower(stream_path(tmp_path, 0))
    for number in range(3000):
        rank.call(open_ended=number == 2999)
        if number in (10, 2000, 2999):
            follower.read()
            assert follower.last_issued is not None
            assert follower.last_issued.sequence == number
    assert [issued.sequence for issued in follower.open.values()] == [2999]
    rank.close()
    follower.read()
    assert follower.ended is True


def test_replays_of_graphs_whose_capture_a_cap_dropped_are_whole(tmp_path: Path) -> None:
    """Two ranks replay a graph of three calls in each step; rank 0's cap drops the segment in which it was captured."""
    ranks = [Rank(tmp_path, 0), Rank(tmp_path, 1, 64 * CAP)]
    for rank in ranks:
        rank.capture(0, 3)
    while (tmp_path / "stream" / "rank0.000000.stream").exists():
        for rank in ranks:
            rank.replay(3)
            rank.call()
            rank.end_step()
    for rank in ranks:
        rank.close()
    recordings = [read_recording(stream_path(tmp_path, rank)) for rank in range(2)]
    assert recordings[0].dropped > 10 and [recording.holes for recording in recordings] == [(), ()]
    assert len(recordings[1]) == 4 * ranks[1].step
    summary = merge(tmp_path)
    assert not summary.divergences and not summary.mismatches
    assert summary.kinds[0].count == 4 * (ranks[0].step - recordings[0].first_step - 1)  # whole steps


def test_the_replays_of_a_window_are_whole_on_their_own(tmp_path: Path) -> None:
    """Two graphs are captured before the window, one of them is gone by then."""
    ranks = [Rank(tmp_path, rank, cap=0) for rank in range(2)]
    for rank in ranks:
        gone = rank.capture(0, 2)
        rank.capture(1, 3)
        rank.replay(2)
        rank.stream.forget(gone)
        rank.stream.begin_part("1", rank.step)
        for _ in range(5):
            rank.replay(3, 1)
            rank.call()
            rank.end_step()
        rank.stream.begin_part("", rank.step)
        rank.close()
    for path in (tmp_path / "stream").glob("*.000000.stream"):
        path.unlink()
    summary = merge(tmp_path, part="1")
    assert summary.kinds[0].count == 20
    assert not any("are not recorded" in what for what in summary.unseen)
    text = segment_paths(stream_path(tmp_path, 0))[0].read_text()
    assert text.count('"k":"graph"') == 1 and '"k":"graph","id":1' in text


def test_replays_of_graphs_whose_line_is_lost_are_counted(tmp_path: Path) -> None:
    """What is not there is counted, and nobody is blamed for it: rank 0 lost what it captured."""
    ranks = [Rank(tmp_path, rank, cap=0) for rank in range(2)]
    for rank in ranks:
        rank.capture(0, 3)
        for _ in range(5):
            rank.replay(3)
            rank.call()
            rank.end_step()
        rank.close()
    (path,) = segment_paths(stream_path(tmp_path, 0))
    path.write_text("".join(line for line in path.read_text().splitlines(True) if '"k":"graph"' not in line))
    recordings = [read_recording(stream_path(tmp_path, rank)) for rank in range(2)]
    assert (len(recordings[0].holes), recordings[1].holes, len(recordings[1])) == (5, (), 20)
    gone = "15 calls in 5 replays of graphs are not recorded"
    assert gone in [what.partition(":")[0] for what in recordings[0].unseen]
    summary = merge(tmp_path)
    assert not summary.divergences and not summary.mismatches
    assert summary.kinds[0].count == 5
    assert gone in render(summary)


def test_windows_of_steps() -> None:
    assert [Windows.parse("4:2").part(step) for step in range(6)] == ["1", "1", "", "", "2", "2"]
    assert [Windows.parse("1-2,4").part(step) for step in range(6)] == ["", "1", "1", "", "2", ""]
    for text in ("4:2", "1-2,4-4"):
        assert str(Windows.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5:6", "of every 5 steps not 6 can be recorded, but 1 to 5"),
        ("0:0", "of every 0 steps not 0"),
        ("x", "neither PERIOD:STEPS, as 100:5, nor a list of ranges"),
        ("4-2", "must ascend and not overlap, unlike '4-2'"),
        ("1-4,3-9", "must ascend and not overlap, unlike '3-9'"),
    ],
)
def test_windows_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Windows.parse(text)
