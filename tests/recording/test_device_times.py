"""Calls by the times of their devices, from streams that are written here."""

from pathlib import Path

from streams import END, call, captured, done, group, meta, wait, write

from hocket.chakra import read_traces
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording

DEVICE = {"async": 1, "stream": 7}


def test_streams_take_the_place_of_the_thread(tmp_path: Path) -> None:
    """The host issues three calls within a microsecond. On the device the first is ready at 1 ms and waited for from
    2 ms to 5 ms; the second is ready at once and was over before the stream came to its wait at 9 ms; of the third the
    end is told."""
    calls = [call(n, 100 * n, **DEVICE) for n in range(3)]
    lines = ["r 0 1000000", "v 0 2000000 5000000", "r 1 1100000", "v 1 9000000 9002000"]
    lines += ["e 2 9100000 12000000", "v 2 9200000 12000000"]
    waits = [line for n in range(3) for line in (done(n, 100 * n + 50), wait(n, 100 * n + 60, 100 * n + 70))]
    write(tmp_path, 0, meta(0, 1), group([0]), *calls, *waits, *lines, END)
    recording = read_recording(stream_path(tmp_path, 0))
    columns = recording.columns
    assert columns.issued.tolist() == [0, 100, 200]
    assert columns.start.tolist() == [1_000_000, 1_100_000, 9_100_000]
    assert columns.begin.tolist() == [1_000_000, 5_000_000, 9_100_000]  # one after the other
    assert columns.end.tolist() == [5_000_000, 9_000_000, 12_000_000]
    assert columns.wait_begin.tolist() == [2_000_000, 9_000_000, 9_200_000]
    assert columns.wait_end.tolist() == [5_000_000, 9_000_000, 12_000_000]
    (said,) = recording.unseen
    assert said.startswith("when 1 asynchronous calls on devices ended before they were waited for")
    summary = merge(tmp_path)
    assert summary.unseen == (f"rank 0: {said}",)
    assert summary.ranks[0].exposed_ns == 3_000_000 + 2_800_000
    (trace,) = read_traces(str(tmp_path)).traces
    calls_of_trace = [at for at, name in enumerate(trace.name.tolist()) if trace.strings[name] == "all_reduce"]
    assert trace.duration_ns[calls_of_trace].tolist() == [4_000_000, 4_000_000, 2_900_000]


def test_calls_that_were_over_before_their_waits_do_not_overlap(tmp_path: Path) -> None:
    """Three collectives of a group are ready at 1 ms, of 8, 16 and 8 bytes; the stream comes to the first two waits at
    5 ms and waits for the third until 9 ms. A fourth call was told nothing by its device."""
    calls = [call(n, 100 * n, **DEVICE, **{"in": size, "out": size}) for n, size in enumerate((8, 16, 8, 8))]
    waits = [line for n in range(4) for line in (done(n, 100 * n + 50), wait(n, 500 + n, 501 + n))]
    lines = [f"r {n} 1000000" for n in range(3)]
    lines += ["v 0 5000000 5000000", "v 1 5000000 5000000", "v 2 5000000 9000000"]
    write(tmp_path, 0, meta(0, 1), group([0]), *calls, *waits, *lines, END)
    recording = read_recording(stream_path(tmp_path, 0))
    columns = recording.columns
    assert columns.begin.tolist()[:3] == [1_000_000, 3_000_000, 5_000_000]
    assert columns.end.tolist()[:3] == [3_000_000, 5_000_000, 9_000_000]
    assert columns.wait_end.tolist()[:3] == [5_000_000, 5_000_000, 9_000_000]
    untold, bounded = recording.unseen
    assert untold == "when 1 calls on devices began and ended there: they have the host's times"
    assert bounded.startswith("when 2 asynchronous calls on devices ended before they were waited for")


def test_what_a_graph_captured_is_done_at_its_replays(tmp_path: Path) -> None:
    """One call, then two that are captured, replays 0 and 9 of them, the second timed by the device, one more call."""
    calls = [call(0, 10, **DEVICE)]
    ends = [done(0, 15), wait(0, 15, 16)]
    graph = captured(4, 2, **DEVICE)
    replays = [
        dict(
            k="replay",
            n=n,
            graph=4,
            t0=1000 * (n + 1),
            t1=1000 * (n + 1) + 50,
            thread=0,
            calls=2,
            bases=[[0, 3 + 2 * n, 2]],
        )
        for n in range(2)
    ]
    replays[1]["n"] = 9  # more than there are calls
    last = [call(1, 5000, 7, **DEVICE), done(1, 5010), wait(1, 5010, 5020)]
    write(tmp_path, 0, meta(0, 1), group([0]), *calls, *ends, graph, *replays, "g 9 2500 2900", *last, END)
    recording = read_recording(stream_path(tmp_path, 0))
    columns = recording.columns
    assert recording.lost == ()
    assert columns.sequence.tolist() == [0, 3, 4, 5, 6, 7]
    assert columns.start.tolist() == [10, 1000, 1001, 2500, 2501, 5000]
    assert columns.end.tolist() == [15, 1050, 1050, 2900, 2900, 5010]
    merge(tmp_path)
    (trace,) = read_traces(str(tmp_path)).traces
    assert sum(trace.strings[name] == "all_reduce" for name in trace.name.tolist()) == 6


def test_replays_of_a_graph_whose_capture_is_not_there_are_told(tmp_path: Path) -> None:
    """As of a window of steps, whose segments begin after the capture."""
    replay = dict(k="replay", graph=0, thread=0, calls=2, bases=[])
    replays = [replay | dict(n=n, t0=1000 * n, t1=1000 * n + 50) for n in range(3)]
    ends = [call(7, 5000, 7, **DEVICE), done(7, 5010), wait(7, 5010, 5020)]
    write(tmp_path, 0, meta(0, 1), group([0]), *replays, "g 1 1500 1900", *ends, END)
    unseen = merge(tmp_path).unseen
    assert sum(said.startswith("rank 0: 6 calls in 3 replays of graphs are not recorded: ") for said in unseen) == 1
