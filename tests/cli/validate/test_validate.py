"""`hocket validate`: errors of a recording whose truth is known, the correction by some steps, and bad input."""

from pathlib import Path

import pytest
from browsing import text_of
from in_process import hocket
from recorded_jobs import of_rank_0, run_on, steps_of_two, validated

EXAMPLES = Path(__file__).parents[3] / "examples"
PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
SLOWER = "ring:2,bandwidth=0.5GB/s,latency=2us"


def test_what_ran_as_predicted_has_no_error(tmp_path: Path) -> None:
    found = validated(run_on(PAIR, steps_of_two(4), tmp_path), "-t", PAIR)["predicted"]
    assert found["step_error"] == pytest.approx(0, abs=0.01)
    for row in found["collectives"]:
        assert row["count"] == 4
        assert row["recorded_ps"] == pytest.approx(row["predicted_ps"], abs=1_100_000)  # starts are in microseconds
    assert found["p90_error"] < 0.15


def test_the_text_and_the_page_of_a_real_recording(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ring = "ring:4,bandwidth=1GB/s,latency=100us"
    text = hocket("validate", EXAMPLES / "traces", "-t", ring, "--fit", "even", "--report", page).stdout
    assert "what explains it" in text and "3 x all_reduce" in text
    assert "steps that were not fitted to (even were):" in text
    assert "Predicted against recorded" in page.read_text()


def test_a_job_of_which_one_rank_was_recorded_says_that_waits_are_in_its_times(tmp_path: Path) -> None:
    found = validated(of_rank_0(run_on(SLOWER, steps_of_two(6), tmp_path), tmp_path), "-t", PAIR)
    assert found["notes"][0].startswith("1 of 2 ranks were recorded")
    because = {row["because"] for row in found["predicted"]["collectives"]}
    assert because == {"waits for ranks that nobody saw are in what was recorded"}


def test_the_noise_of_a_single_call_is_not_known(tmp_path: Path) -> None:
    traces = run_on(SLOWER, steps_of_two(1), tmp_path)
    for row in validated(traces, "-t", PAIR)["predicted"]["collectives"]:
        assert row["noise"] is None and row["because"] == "too few calls to know the noise"
    page = tmp_path / "page.html"
    lines = hocket("validate", traces, "-t", PAIR, "--report", page, columns=200).stdout.splitlines()
    (row,) = (line for line in lines if "195.3 KiB" in line)
    assert row.split("too few")[0].split()[-1] == "-"
    assert "absolute error of a sort's median" in page.read_text().replace("&#x27;", "'").replace("&#39;", "'")


def test_near_sizes_of_few_calls_are_one_row_of_the_table_and_all_rows_of_the_json(tmp_path: Path) -> None:
    sizes = [100_000 + 1_000 * at for at in range(40)] + [1_000_000]
    traces = run_on(SLOWER, steps_of_two(1, sizes=sizes), tmp_path)
    rows = validated(traces, "-t", PAIR)["predicted"]["collectives"]
    assert sorted(row["size_bytes"] for row in rows) == sizes
    table = [
        line for line in hocket("validate", traces, "-t", PAIR, columns=200).stdout.splitlines() if " x all_" in line
    ]
    assert [line.split()[0] for line in table] == ["40", "1"]
    assert "97.66 KiB to 135.7 KiB" in table[0]
    assert "-50" in table[0] and table[0].split("%")[1].split()[-1] in {"0.0", "0.1", "0.2", "0.3", "0.4"}, table[0]


def test_rows_and_steps_that_are_left_out_are_counted(tmp_path: Path) -> None:
    sizes = [100_000 + 1_000 * at for at in range(43)]
    page = tmp_path / "page.html"
    done = hocket("validate", run_on(PAIR, steps_of_two(5, sizes=sizes), tmp_path), "-t", PAIR, "--report", page)
    assert "and 23 more rows of 115 calls, each of less time in all; --json has all sorts" in done.stdout
    assert "and 3 more rows; hocket validate --json has all of them" in text_of(page.read_text())
    done = hocket("validate", run_on(PAIR, steps_of_two(44), tmp_path), "-t", PAIR, "--report", page)
    assert "and 24 more steps; --json has them all" in done.stdout
    assert "and 4 more steps; hocket validate --json has all of them" in text_of(page.read_text())
