"""Computations of a rank: one at a time, or side by side where the trace says that its dependencies tell all."""

import json
from pathlib import Path
from typing import Any

import pytest
from in_process import hocket

from hocket.chakra import TraceBuilder, TraceSet, read_traces, write_traces
from hocket.chakra.profiled import RUNS_SIDE_BY_SIDE, unsized

RING = "ring:2,bandwidth=1GB/s,latency=1us"
US = 10**6


def simulated(*arguments: object) -> dict[str, Any]:
    """The prediction, as --json writes it."""
    done = hocket("simulate", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    return found


def streams(folder: Path, metadata: dict[str, Any], name: str = "beside") -> Path:
    """Rank 0: 30 us on a stream, 20 and 15 us on another; rank 1 nothing."""
    first = TraceBuilder(metadata)
    first.add_comp("long", duration_ns=30_000)
    before = first.add_comp(name, duration_ns=20_000)
    first.add_comp("after", duration_ns=15_000, deps=[before])
    write_traces(folder, TraceSet((first.build(), TraceBuilder().build())))
    return folder


@pytest.mark.parametrize(("metadata", "time_us"), [({}, 65), (dict(RUNS_SIDE_BY_SIDE), 35)])
def test_streams_overlap_where_the_trace_says_so(tmp_path: Path, metadata: dict[str, Any], time_us: int) -> None:
    found = simulated(streams(tmp_path / "job", metadata), "-t", RING)
    assert found["time_ps"] == found["bound_ps"] == time_us * US
    assert found["ranks"]["compute_ps"][0] == time_us * US  # overlaps counted once
    half = simulated(streams(tmp_path / "job", metadata), "-t", RING, "--compute-scale", "1/2")
    assert half["time_ps"] == time_us * US // 2


def test_streams_have_tracks_of_their_own_and_slack(tmp_path: Path) -> None:
    job = streams(tmp_path / "job", dict(RUNS_SIDE_BY_SIDE))
    found = simulated(job, "-t", RING, "--timeline", tmp_path / "shown.json")
    text = (tmp_path / "shown.json").read_text()
    assert '"compute"' in text and '"compute 1"' in text
    assert found["ranks"]["slack_ps"][0] == 0  # the chain; the long one may take 5 us longer


def test_communication_of_unknown_size_is_no_computation(tmp_path: Path) -> None:
    job = streams(tmp_path / "job", dict(RUNS_SIDE_BY_SIDE), unsized("ncclDevKernel_Generic"))
    found = simulated(job, "-t", RING, "--compute-scale", "2")
    assert found["time_ps"] == 60 * US  # only computation takes twice as long
    assert found["notes"] == ["1 kernels that communicate bytes nobody knows take their recorded time and no links"]
    plain = simulated(job, "-t", RING)
    ranks = plain["ranks"]
    assert (ranks["communication_ps"][0], ranks["overlapped_ps"][0]) == (20 * US, 20 * US)


def test_slowing_computation_beside_communication_is_said_to_be_in_the_recording(tmp_path: Path) -> None:
    found = simulated(streams(tmp_path / "job", dict(RUNS_SIDE_BY_SIDE)), "-t", RING, "--overlap-slowdown", "2")
    assert "--overlap-slowdown" in "".join(found["notes"])


def test_anonymized_streams_still_overlap(tmp_path: Path) -> None:
    job = streams(tmp_path / "job", dict(RUNS_SIDE_BY_SIDE), unsized("ncclDevKernel_Generic"))
    assert hocket("trace", "anonymize", job, "-o", tmp_path / "public").returncode == 0
    found, before = (simulated(folder, "-t", RING) for folder in (tmp_path / "public", job))
    assert (found["time_ps"], found["ranks"], found["notes"]) == (before["time_ps"], before["ranks"], before["notes"])
    names = read_traces(tmp_path / "public").traces[0].strings
    assert not [name for name in names if "nccl" in name]
