"""Timelines of measured times: which part is shown."""

import json
from pathlib import Path
from typing import Any

from hocket.chakra import TraceBuilder, TraceSet
from hocket.chakra.timeline import MeasuredPart, WrittenTimeline, write_timeline


def test_ranks_and_times_are_those_that_are_named_and_the_rest_has_20_mb(tmp_path: Path) -> None:
    traces = []
    for _ in range(2):
        builder = TraceBuilder()
        for at in range(100):
            builder.add_comp(f"work {at}", start_us=10 * at, duration_ns=5_000)
        traces.append(builder.build())
    job = TraceSet(tuple(traces))
    path = tmp_path / "timeline.json"

    def shown(**part: Any) -> tuple[WrittenTimeline, list[dict[str, Any]]]:
        written = write_timeline(job, path, part=MeasuredPart(**part))
        return written, [each for each in json.loads(path.read_text())["traceEvents"] if each["ph"] == "X"]

    assert shown()[0] == WrittenTimeline(200, 0)
    written, spans = shown(ranks={1}, time_us=(100, 150))
    assert {each["pid"] for each in spans} == {1} and [each["ts"] for each in spans] == [100, 110, 120, 130, 140]
    written, spans = shown(most_bytes=15_000)
    assert path.stat().st_size <= 15_000 and written == WrittenTimeline(len(spans), 200 - len(spans))
    assert 20 < len(spans) < 150 and {each["pid"] for each in spans} == {0, 1}
