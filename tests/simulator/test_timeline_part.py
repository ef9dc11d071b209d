"""Timelines show what is asked for, and by default no more than viewers open well."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from in_process import hocket

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.simulator import Fidelity, Prediction, TimelineCut, simulate_traces, timeline_part, write_timeline
from hocket.simulator.timeline_part import MOST_BYTES
from hocket.topology import load

RANKS = 8


def job(steps: int, name: str = "work") -> TraceSet:
    builders = [TraceBuilder() for _ in range(RANKS)]
    for rank, builder in enumerate(builders):
        last: list[int] = []
        for step in range(steps):
            work = builder.add_comp(f"{name} {step}", duration_ns=1_000 + 10 * rank, deps=last)
            last = [builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 8_000, deps=[work])]
    return TraceSet(tuple(builder.build() for builder in builders))


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    topology = load(f"switch:{RANKS},bandwidth=10GB/s,latency=100ns")
    return simulate_traces(job(20), topology, fidelity=Fidelity(record_links=True))


def events(prediction: Prediction, path: Path, **cut: Any) -> list[dict[str, Any]]:
    write_timeline(prediction, path, part=timeline_part(prediction, TimelineCut(**cut)))
    found: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return found


def spans(found: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """By process: ranks, then the links, then the critical path."""
    by_process: dict[int, list[dict[str, Any]]] = {}
    for event in found:
        if event["ph"] == "X":
            by_process.setdefault(event["pid"], []).append(event)
    return by_process


def test_ranks_times_and_links_are_those_that_are_named(prediction: Prediction, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    whole = spans(events(prediction, path))
    assert {*whole} == {*range(RANKS), RANKS, RANKS + 1}
    some = spans(events(prediction, path, ranks=[1, 5], links=[0, 3]))
    assert {*some} == {1, 5, RANKS, RANKS + 1} and some[5] == whole[5]
    assert {each["tid"] for each in some[RANKS]} == {0, 3}
    assert RANKS not in spans(events(prediction, path, links=[]))
    begin, end = 5_000_000, 9_000_000
    cut = spans(events(prediction, path, time_ps=(begin, end)))
    for process, shown in whole.items():
        within = [each for each in shown if each["ts"] < end / 1e6 and each["ts"] + each["dur"] >= begin / 1e6]
        assert cut[process] == within and 0 < len(within) < len(shown)


@pytest.mark.parametrize("most", [250_000, 300_000, 500_000])
def test_what_has_no_room_is_left_out_and_named(most: int, prediction: Prediction, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    found = spans(events(prediction, path, most_bytes=most))
    assert path.stat().st_size <= most
    part = timeline_part(prediction, TimelineCut(most_bytes=most))
    shown = [rank for rank in range(RANKS) if rank in found]
    assert int(prediction.finish_ps.argmax()) in shown  # the last to end
    if len(shown) < RANKS and len(found[shown[0]]) == 40:
        assert f"{RANKS - len(shown)} of {RANKS} ranks" in part.left_out


def test_a_large_job_stays_below_20_mb(tmp_path: Path) -> None:
    name = 'layer "quoted" \u202e' + "x" * 1000
    write_traces(tmp_path / "traces", job(1_500, name))
    spec = f"switch:{RANKS},bandwidth=10GB/s,latency=100ns"
    done = hocket("simulate", tmp_path / "traces", "-t", spec, "--timeline", tmp_path / "t.json.gz")
    assert done.returncode == 0, done.stderr
    with gzip.open(tmp_path / "t.json.gz") as file:
        assert MOST_BYTES / 4 < len(file.read()) < MOST_BYTES
    assert "ranks" in done.stdout and "to stay below 20 MB: --timeline-ranks" in done.stdout
    options = ["--timeline", tmp_path / "t.json", "--timeline-ranks", "0,2", "--timeline-links", "none"]
    done = hocket("simulate", tmp_path / "traces", "-t", spec, *options, "--timeline-time", "0us:50us")
    assert done.returncode == 0 and "to stay below" not in done.stdout, done.stderr
    found = spans(json.loads((tmp_path / "t.json").read_text())["traceEvents"])
    assert {*found} == {0, 2, RANKS + 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--timeline-ranks", "0-3"], "go with --timeline FILE"),
        (["--timeline", "t.json", "--timeline-ranks", "x"], "--timeline-ranks 'x': expected numbers"),
        (["--timeline", "t.json", "--timeline-time", "9ms:1ms"], "the first before the second"),
        (
            ["--timeline", "t.json", "--timeline-links", "nvlink,copper"],
            "copper: no such class; this topology has nvlink",
        ),
    ],
)
def test_what_names_nothing_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = hocket("simulate", "all_reduce", "-s", "1KiB", "-t", "dgx-h100:gpus=2", *options, cwd=tmp_path, columns=200)
    assert done.returncode == 2 and message in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "t.json").exists()
