"""`hocket validate --fit`: steps that were fitted to never stand among those that were not."""

from pathlib import Path

import pytest
from in_process import hocket
from recorded_jobs import of_rank_0, run_on, steps_of_two, validated

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
SLOWER = "ring:2,bandwidth=0.5GB/s,latency=2us"


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


def test_too_few_steps_are_refused(tmp_path: Path) -> None:
    traces = run_on(PAIR, steps_of_two(1), tmp_path)
    failed = hocket("validate", traces, "-t", PAIR, "--fit", "first-half", columns=1000)
    assert failed.returncode == 2 and "it takes 2 at least" in failed.stderr
