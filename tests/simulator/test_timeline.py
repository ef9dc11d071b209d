"""The timeline is what Perfetto reads, and says what the prediction says."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, simulate_traces, write_timeline
from hocket.topology import load

TOPOLOGY = load("ring:2,bandwidth=1GB/s,latency=1us")


def program(trace: TraceBuilder) -> None:
    first = trace.add_comp("forward", duration_ns=2_000)
    trace.add_collective("gradients", CollectiveType.ALL_REDUCE, 2_000, deps=[first])
    trace.add_collective("loss", CollectiveType.ALL_REDUCE, 4, deps=[first])
    trace.add_comp("backward", duration_ns=3_000, deps=[first])


def written(path: Path, *, record_links: bool) -> list[dict[str, Any]]:
    builders = [TraceBuilder(), TraceBuilder()]
    for builder in builders:
        program(builder)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    write_timeline(simulate_traces(traces, TOPOLOGY, fidelity=Fidelity(record_links=record_links)), path)
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def test_every_track_does_one_thing_at_a_time(tmp_path: Path) -> None:
    events = written(tmp_path / "t.json.gz", record_links=True)
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        assert event["ph"] in ("M", "X")
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for spans in tracks.values():
        spans.sort(key=lambda span: span["ts"])
        for before, after in pairwise(spans):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-9
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert set(tracks) <= named


def test_computation_and_collectives_carry_their_times_in_microseconds(tmp_path: Path) -> None:
    events = written(tmp_path / "t.json.gz", record_links=False)
    spans = {(event["pid"], event["name"]): event for event in events if event["ph"] == "X"}
    assert (spans[0, "forward"]["ts"], spans[0, "forward"]["dur"]) == (0, 2)
    assert (spans[1, "backward"]["ts"], spans[1, "backward"]["dur"]) == (2, 3)
    assert spans[0, "gradients"]["ts"] == 2
    assert spans[0, "gradients"]["args"]["algorithm"] == "ring"
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert processes == {"rank 0", "rank 1", "critical path"}


def test_the_critical_path_has_its_own_track(tmp_path: Path) -> None:
    # The longest chain: 2 us forward, then the gradients, whose two steps queue for the link with those of the loss.
    events = written(tmp_path / "t.json.gz", record_links=False)
    (process,) = {event["pid"] for event in events if event["args"].get("name") == "critical path"}
    spans = [event for event in events if event["ph"] == "X" and event["pid"] == process]
    assert [span["name"].partition(" ")[0] for span in spans] == ["compute", "all_reduce"]
    assert [span["ts"] for span in spans] == [0, 2]
    last = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    assert spans[-1]["ts"] + spans[-1]["dur"] == last


def test_the_same_prediction_makes_the_same_bytes(tmp_path: Path) -> None:
    written(tmp_path / "a.json.gz", record_links=True)
    written(tmp_path / "b.json.gz", record_links=True)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
