"""`hocket validate --fit`: steps that were fitted to never stand among those that were not."""

from pathlib import Path

import pytest
from in_process import hocket
from recorded_jobs import of_rank_0, one_message, pairs_of_four, run_on, steps_of_two, validated

from hocket.chakra import TraceSet

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
SLOWER = "ring:2,bandwidth=0.5GB/s,latency=2us"
FOUR, SLOWER_FOUR = "ring:4,bandwidth=1GB/s,latency=1us", "ring:4,bandwidth=0.5GB/s,latency=2us"


def test_some_steps_of_a_slower_network_correct_the_others(tmp_path: Path) -> None:
    found = validated(run_on(SLOWER, steps_of_two(4), tmp_path), "-t", PAIR, "--fit", "odd")
    (large, small) = found["predicted"]["collectives"]
    assert (large["size_bytes"], small["size_bytes"]) == (200_000, 2_000)
    assert large["error"] == pytest.approx(-0.5, abs=0.02)
    before, after = found["not_fitted_predicted"], found["not_fitted_corrected"]
    assert before["median_error"] > 0.4 and after["median_error"] < 0.05
    assert abs(after["step_error"]) < 0.01 < abs(before["step_error"])


@pytest.mark.parametrize(
    ("fit", "first", "held_out"), [("odd", 3, [4, 6]), ("even", 3, [3, 5]), ("first-half", 4, [6, 7])]
)
def test_steps_are_odd_or_even_by_their_number(tmp_path: Path, fit: str, first: int, held_out: list[int]) -> None:
    traces = run_on(SLOWER, steps_of_two(4, first=first), tmp_path)
    after = validated(traces, "-t", PAIR, "--fit", fit)["not_fitted_corrected"]
    assert [row["step"] for row in after["steps"]] == held_out


def test_where_no_steps_are_told_the_whole_job_is_no_held_out_step(tmp_path: Path) -> None:
    traces = run_on(SLOWER, steps_of_two(4, told=False), tmp_path)
    found = validated(traces, "-t", PAIR, "--fit", "odd")
    for name in ("not_fitted_predicted", "not_fitted_corrected"):
        assert found[name]["steps"] == [] and found[name]["step_error"] is None
        assert [row["count"] for row in found[name]["collectives"]] == [2, 2]
    assert found["not_fitted_corrected"]["median_error"] < 0.05
    page = tmp_path / "page.html"
    text = hocket("validate", traces, "-t", PAIR, "--fit", "odd", "--report", page).stdout
    fitted = text[text.index("steps that were not fitted to") :]
    assert "no step error: the traces tell no steps" in fitted and "step +" not in fitted and "step -" not in fitted
    assert "no step error" in page.read_text() and "Steps, corrected" not in page.read_text()


def test_a_job_that_is_filled_in_has_no_collective_to_fit_to(tmp_path: Path) -> None:
    whole = run_on(SLOWER, steps_of_two(4), tmp_path)
    failed = hocket("validate", of_rank_0(whole, tmp_path), "-t", PAIR, "--fit", "odd", columns=1000)
    assert failed.returncode == 2
    assert "no collective was recorded on all of its ranks" in failed.stderr and "record every rank" in failed.stderr


@pytest.mark.parametrize(
    ("traces", "why"),
    [
        (steps_of_two(1), "of the traces' 1 steps with collectives it takes 0"),
        (steps_of_two(1, told=False), "of the traces' 1 turns of collectives (no steps are told) it takes 1"),
    ],
)
def test_too_little_to_fit_to_is_refused(tmp_path: Path, traces: TraceSet, why: str) -> None:
    failed = hocket("validate", run_on(PAIR, traces, tmp_path), "-t", PAIR, "--fit", "odd", columns=1000)
    assert failed.returncode == 2 and why in failed.stderr


def test_a_job_of_messages_has_nothing_to_fit_to(tmp_path: Path) -> None:
    failed = hocket("validate", run_on(PAIR, one_message(), tmp_path), "-t", PAIR, "--fit", "odd", columns=1000)
    assert failed.returncode == 2 and "the job has no collectives, and messages are not corrected" in failed.stderr


def test_collectives_of_filled_in_ranks_are_left_out_of_a_fit(tmp_path: Path) -> None:
    """Of four ranks two were recorded, who have a group of their own: that is fitted to, the one of all is not."""
    whole = run_on(SLOWER_FOUR, pairs_of_four(4), tmp_path)
    (tmp_path / "two").mkdir()
    for name in ("trace.0.et", "trace.1.et", "comm_groups.json"):
        (tmp_path / "two" / name).write_bytes((whole / name).read_bytes())
    made = hocket("trace", "complete", tmp_path / "two", "--world", 4, "-o", tmp_path / "job")
    assert made.returncode == 0, made.stderr
    found = validated(tmp_path / "job", "-t", FOUR, "--fit", "odd")
    assert any("--fit leaves out the 8 of 12 collectives" in note for note in found["notes"])
    (row,) = found["not_fitted_corrected"]["collectives"]
    assert (row["ranks"], row["count"]) == (2, 2) and abs(row["error"]) < 0.05
