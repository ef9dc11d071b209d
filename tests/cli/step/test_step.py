"""`hocket step` on generated and recorded jobs: parts that add up, what-ifs, and what it refuses."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from in_process import hocket

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of two stages with tensor and data parallelism, on one DGX H100."""
    folder = tmp_path_factory.mktemp("llm")
    plan = ["--tp", "2", "--pp", "2", "--dp", "2", "--zero", "1", "--global-batch", "8", "--sequence", "1024"]
    hocket("generate", "llm", "llama3-8b", *plan, "-t", "dgx-h100", "-o", str(folder / "traces"))
    return folder / "traces"


class Made(NamedTuple):
    """What `hocket step` made of the generated job."""

    text: str
    form: dict[str, Any]
    page: str


@pytest.fixture(scope="module")
def made(llm: Path) -> Made:
    files = [llm.parent / "step.json", llm.parent / "step.html"]
    text = hocket("step", llm, "-t", "dgx-h100", "--json", files[0], "--report", files[1]).stdout
    return Made(text, json.loads(files[0].read_text()), files[1].read_text())


def test_the_parts_of_a_generated_step_add_up_and_it_knows_its_model(made: Made) -> None:
    form = made.form
    assert sum(row["mean_ps"] for row in form["parts"]) == pytest.approx(form["time_ps"])
    assert sum(row["share"] for row in form["parts"]) == pytest.approx(1)
    names = {(row["activity"], row["dimension"]) for row in form["parts"]}
    assert {("computation", ""), ("bubble", ""), ("exposed communication", "TP")} <= names
    assert form["tokens"] == 8 * 1024
    assert form["tokens_per_second"] == pytest.approx(8 * 1024 / form["time_ps"] * 1e12)
    assert 0.05 < form["model_flops_utilisation"] < 1
    assert [row["dimension"] for row in form["dimensions"]] == ["TP", "PP", "DP"]
    assert form["contenders"][-1]["time_ps"] == form["bound_ps"] <= form["time_ps"]


def test_every_what_if_is_what_simulating_it_says(made: Made, llm: Path, tmp_path: Path) -> None:
    form = made.form
    rows = {row["name"]: row for row in form["what_ifs"]}
    gains = [row["gain"] for row in form["what_ifs"]]
    assert gains == sorted(gains, reverse=True)
    quicker = json.loads(
        hocket("simulate", str(llm), "-t", "dgx-h100", "--compute-scale", "9/10", "--json", "-").stdout
    )
    assert rows["computation 10 % faster"]["to_ps"] == quicker["time_ps"]
    plan = ["--tp", "2", "--sequence-parallel", "--pp", "2", "--dp", "2", "--zero", "1", "--global-batch", "8"]
    hocket("generate", "llm", "llama3-8b", *plan, "--sequence", "1024", "-t", "dgx-h100", "-o", str(tmp_path / "sp"))
    other = json.loads(hocket("simulate", str(tmp_path / "sp"), "-t", "dgx-h100", "--json", "-").stdout)
    assert rows["sequence parallelism"]["to_ps"] == other["time_ps"]
    tried = {*rows} | {row["name"] for row in form["not_tried"]}
    assert {"micro-batches of 2", "a zero-bubble pipeline (ZB-H1)", "tp 1, dp 4", "pp 1, dp 4"} <= tried


def test_a_recorded_job_says_skew_and_what_even_ranks_would_gain() -> None:
    ring = "ring:4,bandwidth=50GB/s,latency=500ns"
    made = json.loads(hocket("step", EXAMPLES / "traces", "-t", ring, "--tokens", "4096", "--json", "-").stdout)
    assert sum(row["share"] for row in made["parts"]) == pytest.approx(1)
    assert any(row["activity"] == "skew" for row in made["parts"])
    assert "every rank as fast as the median of those alike" in {row["name"] for row in made["what_ifs"]}
    assert made["steps"] == 0  # none are told: the whole job counts as one
    assert made["tokens_per_second"] == pytest.approx(4096 / made["time_ps"] * 1e12)
    assert made["model_flops_utilisation"] is None  # nobody says what the model needs


def test_a_recorded_job_that_is_predicted_otherwise_says_what_it_took() -> None:
    slow = "ring:4,bandwidth=1MB/s,latency=500ns"
    text = hocket("step", EXAMPLES / "traces", "-t", slow, "--no-what-if").stdout
    assert "note: the recording itself took 494.6 ms" in text and "hocket validate says more" in text


def test_a_job_made_of_one_rank_says_that_its_skew_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for name in ("trace.0.et", "comm_groups.json"):
        (tmp_path / "one" / name).write_bytes((EXAMPLES / "traces" / name).read_bytes())
    failed = hocket("trace", "complete", tmp_path / "one", "--world", 8, "-o", tmp_path / "wrong")
    assert failed.returncode == 2 and "tell of 4 ranks" in failed.stderr.replace("\n", " ")
    assert hocket("trace", "complete", tmp_path / "one", "-o", tmp_path / "job").returncode == 0
    ring = "ring:4,bandwidth=50GB/s,latency=500ns"
    text = hocket("step", tmp_path / "job", "-t", ring, "--no-what-if").stdout
    assert "3 of 4 ranks were filled in from those that were recorded" in text


def test_the_text_names_the_top_changes_and_the_whole(made: Made) -> None:
    assert "what would shorten it the most:\n  1. " in made.text
    assert "whole" in made.text and "100.0%" in made.text and "MFU" in made.text
    assert "Where the time goes" in made.page and "bubble" in made.page


def test_the_bound_and_missing_traces_are_refused(llm: Path, tmp_path: Path) -> None:
    failed = hocket("step", str(llm), "-t", "dgx-h100", "--model", "bound")
    assert failed.returncode == 2 and "the report prints the bound" in failed.stderr
    failed = hocket("step", str(tmp_path / "none"), "-t", "dgx-h100")
    assert failed.returncode == 3 and "none" in failed.stderr
    failed = hocket("step", str(llm), "-t", "dgx-h100:gpus=4")
    assert failed.returncode == 3 and "8 ranks" in failed.stderr
