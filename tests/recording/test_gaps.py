"""What is not there of a stream is not made up: the time between windows of steps."""

import json
from pathlib import Path

import numpy as np
import streams
from streams import END, done, group, meta, wait

from hocket.chakra import NodeType, read_trace
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.segments import segment_path

STEP, CALLS, PERIOD, LENGTH, WINDOWS = 10_000_000, 4, 500, 3, 3
BUSY = 1_000_000  # ns of a call, of which a rank waits for all


def windowed(folder: Path, rank: int) -> None:
    """Three windows of 3 steps, 500 apart, of 10 ms a step with 4 ms of calls."""
    head, sequence, segment = [meta(rank), group([0, 1])], 0, 0

    def write(part: str, step: int, lines: list[streams.Record | str | list[streams.Record | str]]) -> None:
        nonlocal segment
        opened = {"k": "segment", "n": segment, "part": part, "step": step, "t": step * STEP + 1000, "cap": 0}
        path = segment_path(stream_path(folder, rank), segment)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(streams.lines(head[0], opened, head[1], *lines))
        segment += 1

    for window in range(WINDOWS):
        lines: list[streams.Record | str | list[streams.Record | str]] = []
        for step in range(PERIOD * window, PERIOD * window + LENGTH):
            for number in range(CALLS):
                t = step * STEP + (2 * number + 1) * BUSY
                lines += [streams.call(sequence, t), done(sequence, t + BUSY), wait(sequence, t, t + BUSY)]
                sequence += 1
            lines.append({"k": "step", "n": step, "t": (step + 1) * STEP})
        write(str(window + 1), PERIOD * window, lines)
        write("", PERIOD * window + LENGTH, [END] if window == WINDOWS - 1 else [])


def test_time_between_windows_is_no_computation(tmp_path: Path) -> None:
    for rank in range(2):
        windowed(tmp_path, rank)
    summary = merge(tmp_path)
    recorded = WINDOWS * LENGTH * STEP - BUSY  # it begins with the first call
    for row in summary.ranks:
        assert row.exposed_ns == row.communication_ns == WINDOWS * LENGTH * CALLS * BUSY
        assert row.elapsed_ns == recorded and row.compute_ns == recorded - row.exposed_ns
    trace = read_trace(tmp_path / "trace.0.et")
    computed = trace.duration_ns[trace.type == NodeType.COMP]
    assert computed.max() < STEP and computed.sum() == summary.ranks[0].compute_ns
    assert np.diff(trace.start_us.astype(np.int64)).min() >= 0
    assert json.loads((tmp_path / "summary.json").read_text())["ranks"][0]["elapsed_ns"] == recorded
