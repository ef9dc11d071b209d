"""`hocket validate`: errors of a recording whose truth is known, the correction by some steps, and bad input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import hocket

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.chakra.trace import NodeType
from hocket.simulator import simulate_traces
from hocket.topology import load

EXAMPLES = Path(__file__).parents[3] / "examples"
PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
SLOWER = "ring:2,bandwidth=0.5GB/s,latency=2us"


def recorded_on(topology: str, folder: Path, steps: int = 4) -> Path:
    """The traces of a job of so many steps, with the times at which it would run on the topology as recorded."""
    builders = []
    for first in (20_000, 50_000):
        builder = TraceBuilder()
        last: tuple[int, ...] = ()
        for step in range(steps):
            builder.begin_step(step)
            work = builder.add_comp("forward", duration_ns=first, deps=last)
            small = builder.add_collective("norm", CollectiveType.ALL_REDUCE, 2_000, deps=[work])
            large = builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 200_000, deps=[small])
            last = (large,)
        builders.append(builder)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    truth = simulate_traces(traces, load(topology))
    made = []
    for rank, trace in enumerate(traces.traces):
        rows = slice(int(truth.workload.rank_offset[rank]), int(truth.workload.rank_offset[rank + 1]))
        start, finish = truth.node_start_ps[rows] // 1000, truth.node_finish_ps[rows] // 1000
        order = np.argsort(trace.id, kind="stable")
        start_us, duration = np.zeros(len(trace), np.uint64), np.zeros(len(trace), np.int64)
        start_us[order] = start // 1000
        duration[order] = finish - start // 1000 * 1000
        duration[trace.type == NodeType.COMP] = trace.duration_ns[trace.type == NodeType.COMP]
        made.append(replace(trace, start_us=start_us, duration_ns=duration))
    write_traces(folder / "traces", replace(traces, traces=tuple(made)))
    return folder / "traces"


def validated(traces: Path, *options: str) -> dict[str, Any]:
    return json.loads(hocket("validate", traces, *options, "--json", "-").stdout)  # type: ignore[no-any-return]


def test_what_ran_as_predicted_has_no_error(tmp_path: Path) -> None:
    found = validated(recorded_on(PAIR, tmp_path), "-t", PAIR)["predicted"]
    assert found["step_error"] == pytest.approx(0, abs=0.01)
    for row in found["collectives"]:
        assert row["count"] == 4
        assert row["recorded_ps"] == pytest.approx(row["predicted_ps"], abs=1_100_000)  # starts are in microseconds
    assert found["p90_error"] < 0.15


def test_a_job_of_a_slower_network_shows_its_factor_and_some_steps_correct_the_others(tmp_path: Path) -> None:
    found = validated(recorded_on(SLOWER, tmp_path), "-t", PAIR, "--fit", "odd")
    (large, small) = found["predicted"]["collectives"]
    assert (large["size_bytes"], small["size_bytes"]) == (200_000, 2_000)
    assert large["error"] == pytest.approx(-0.5, abs=0.02)
    before, after = found["not_fitted_predicted"], found["not_fitted_corrected"]
    assert [row["step"] for row in after["steps"]] == [1, 3]
    assert before["median_error"] > 0.4 and after["median_error"] < 0.05
    assert abs(after["step_error"]) < 0.01 < abs(before["step_error"])


def test_the_text_and_the_page_of_a_real_recording(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ring = "ring:4,bandwidth=1GB/s,latency=100us"
    text = hocket("validate", EXAMPLES / "traces", "-t", ring, "--fit", "even", "--report", page).stdout
    assert "what explains it" in text and "3 x all_reduce" in text
    assert "steps that were not fitted to (even were):" in text
    assert "Predicted against recorded" in page.read_text()


def test_a_job_of_which_one_rank_was_recorded_says_that_waits_are_in_its_times(tmp_path: Path) -> None:
    whole = recorded_on(SLOWER, tmp_path)
    (tmp_path / "one").mkdir()
    for name in ("trace.0.et", "comm_groups.json"):
        if (found := whole.parent / name).exists() or (found := whole / name).exists():
            (tmp_path / "one" / name).write_bytes(found.read_bytes())
    made = hocket("trace", "complete", tmp_path / "one", "--world", 2, "-o", tmp_path / "job")
    assert made.returncode == 0, made.stderr
    found = validated(tmp_path / "job", "-t", PAIR)
    assert found["notes"][0].startswith("1 of 2 ranks were recorded")
    because = {row["because"] for row in found["predicted"]["collectives"]}
    assert "waits for ranks that nobody saw are in what was recorded" in because


def test_traces_that_nobody_ran_too_few_steps_and_bounds_are_refused(tmp_path: Path) -> None:
    hocket("generate", "collective", "all_reduce", "--ranks", "2", "--size", "1MiB", "-o", tmp_path / "made")
    failed = hocket("validate", tmp_path / "made", "-t", PAIR)
    assert failed.returncode == 2 and "record the job with hocket collect" in failed.stderr.replace("\n", " ")
    failed = hocket("validate", recorded_on(PAIR, tmp_path, steps=1), "-t", PAIR, "--fit", "odd")
    assert failed.returncode == 2 and "it takes 2 at least" in failed.stderr.replace("\n", " ")
    failed = hocket("validate", EXAMPLES / "traces", "-t", "ring:4,bandwidth=1GB/s,latency=1us", "--model", "bound")
    assert failed.returncode == 2
    assert len(read_traces(EXAMPLES / "traces").traces) == 4
