"""`hocket step` of jobs that were sliced, combined, grown, edited or lost ranks: it says of them what still holds."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from in_process import hocket

from hocket.chakra import TraceSet, read_traces, write_traces
from hocket.simulator import simulate_traces
from hocket.simulator.analysis import job_facts
from hocket.topology import load

PLAN = ["llama3-8b", "--tp", "2", "--pp", "2", "--zero", "1", "--global-batch", "4", "--sequence", "512"]
TOKENS = 4 * 512


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs of 4 ranks, one of which has two pipeline stages."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, more in (("one", ["--dp", "1"]), ("two", ["--dp", "1", "--precision", "fp8"])):
        made = hocket("generate", "llm", *PLAN, *more, "-t", "dgx-h100:gpus=4", "-o", folder / name)
        assert made.returncode == 0, made.stderr
    return folder


def step(traces: Path, topology: str = "dgx-h100", *more: str) -> dict[str, Any]:
    made = hocket("step", traces, "-t", topology, *more, "--json", "-")
    assert made.returncode == 0, made.stderr
    form: dict[str, Any] = json.loads(made.stdout)
    return form


def plans(form: dict[str, Any]) -> Iterator[str]:
    """What is said of other plans: what-ifs and what was not tried."""
    for row in (*form["what_ifs"], *form["not_tried"]):
        if row["name"].startswith(("micro-batches", "tp ", "pp ", "recomputation", "sequence")):
            yield row["name"]


def why_no_plans(form: dict[str, Any]) -> str:
    assert not [*plans(form)]
    return str({row["name"]: row["why"] for row in form["not_tried"]}["other plans"])


def test_a_slice_has_no_totals_of_the_whole_and_no_other_plans(folder: Path, tmp_path: Path) -> None:
    done = hocket("trace", "slice", folder / "one", "--ranks", "0,1", "-o", tmp_path / "part")
    assert done.returncode == 0, done.stderr
    metadata = read_traces(tmp_path / "part").traces[0].metadata
    assert not {"tokens", "model_flops", "request"} & metadata.keys() and metadata["world_size"] == 2
    form = step(tmp_path / "part")
    assert form["tokens"] is None and form["model_flops_utilisation"] is None
    assert not [*plans(form)]


def test_jobs_side_by_side_have_the_tokens_of_both_and_no_other_plans(folder: Path, tmp_path: Path) -> None:
    done = hocket("trace", "combine", folder / "one", folder / "two", "-o", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    form = step(tmp_path / "both")
    assert form["tokens"] == 2 * TOKENS and form["idle_ranks"] == 0
    assert form["tokens_per_second"] == pytest.approx(2 * TOKENS / form["time_ps"] * 1e12)
    alone = [step(folder / name, "dgx-h100", "--no-what-if") for name in ("one", "two")]
    peaks = [989.4e12 * 4, 1978.9e12 * 4]
    flops = sum(
        one["model_flops_utilisation"] * peak * one["time_ps"] * 1e-12 for one, peak in zip(alone, peaks, strict=True)
    )
    used = flops / (sum(peaks) * form["time_ps"] * 1e-12)
    assert form["model_flops_utilisation"] == pytest.approx(used, rel=1e-3)
    assert len(form["memory_bytes"]) == 4
    assert {row["dimension"] for row in form["dimensions"]} == {"TP", "PP", "embedding"} - {"embedding"}
    assert "several requests" in why_no_plans(form) or "no longer" in why_no_plans(form)
    text = hocket("step", tmp_path / "both", "-t", "dgx-h100", "--no-what-if").stdout
    assert "on a rank of stage 0 of '" in text


def test_the_same_job_twice_is_not_the_job_that_its_request_made(folder: Path, tmp_path: Path) -> None:
    copytree(folder / "one", tmp_path / "copy")
    assert hocket("trace", "combine", folder / "one", tmp_path / "copy", "-o", tmp_path / "both").returncode == 0
    form = step(tmp_path / "both")
    assert form["tokens"] == 2 * TOKENS
    assert "no longer those that their request made" in why_no_plans(form)


@pytest.mark.parametrize("combined", [False, True])
def test_a_job_that_lost_ranks_says_that_its_tokens_are_not_known(folder: Path, tmp_path: Path, combined: bool) -> None:
    """The command refuses files that lack ranks; Python may be given any traces."""
    plan = ["--dp", "2", "--global-batch", "4", "--sequence", "512"]
    hocket("generate", "llm", "llama3-8b", *plan, "-t", "dgx-h100:gpus=2", "-o", tmp_path / "dp")
    if combined:
        hocket("trace", "combine", folder / "one", tmp_path / "dp", "-o", tmp_path / "both")
    traces = read_traces(tmp_path / ("both" if combined else "dp"))
    left = traces.num_ranks - 1
    groups = {name: tuple(rank for rank in ranks if rank < left) for name, ranks in traces.groups.items()}
    lost = TraceSet(traces.traces[:left], groups)
    facts = job_facts(lost, "dgx-h100", simulate_traces(lost, load("dgx-h100")))
    assert facts.tokens is None and facts.model_flops is None and facts.idle_ranks == 8 - left
    named = "job 'dp'" if combined else "the job"
    assert facts.notes == (
        f"{named} has 2 ranks, and there are traces of 1: tokens and operations per step are not known",
    )


def test_a_job_whose_ranks_were_made_slower_has_no_other_plans(folder: Path, tmp_path: Path) -> None:
    traces = read_traces(folder / "one")
    slow = replace(traces.traces[1], duration_ns=2 * traces.traces[1].duration_ns)
    write_traces(tmp_path / "slow", replace(traces, traces=(traces.traces[0], slow, *traces.traces[2:])))
    form = step(tmp_path / "slow", "dgx-h100:gpus=4")
    assert "no longer" in why_no_plans(form)
    even = {row["name"]: row for row in form["what_ifs"]}["every rank as fast as the median of those alike"]
    assert even["to_ps"] < 0.7 * even["from_ps"]  # two ranks are alike, and the median is the quicker one's


def test_a_grown_job_has_no_totals_of_the_small_one(folder: Path, tmp_path: Path) -> None:
    plan = ["--dp", "2", "--global-batch", "4", "--sequence", "512"]
    hocket("generate", "llm", "llama3-8b", *plan, "-o", tmp_path / "dp")
    done = hocket("extrapolate", tmp_path / "dp", "--data-parallel", "2x", "-o", tmp_path / "grown")
    assert done.returncode == 0, done.stderr
    form = step(tmp_path / "grown", "dgx-h100")
    assert form["tokens"] is None and form["ranks"] == 4 and form["idle_ranks"] == 4
    assert not [*plans(form)]


def test_accelerators_without_a_rank_are_told(folder: Path) -> None:
    text = hocket("step", folder / "one", "-t", "dgx-h100", "--no-what-if").stdout
    assert "4 of the 8 accelerators there have no rank of the job" in text


def test_no_steps_are_told_as_such(tmp_path: Path) -> None:
    traces = Path(__file__).parents[3] / "examples" / "traces"
    text = hocket("step", traces, "-t", "ring:4,bandwidth=50GB/s,latency=500ns", "--no-what-if").stdout
    assert "4 ranks, no steps marked on all ranks: the whole counts as one" in text


def test_beside_a_job_that_says_nothing_of_its_tokens_none_are_known(folder: Path, tmp_path: Path) -> None:
    hocket("generate", "collective", "ring_exchange", "--ranks", "4", "--size", "1MiB", "-o", tmp_path / "ring")
    assert hocket("trace", "combine", folder / "one", tmp_path / "ring", "-o", tmp_path / "both").returncode == 0
    form = step(tmp_path / "both", "dgx-h100", "--no-what-if")
    assert form["tokens"] is None
    assert "job 'ring' says nothing of its own: tokens and operations per step are not known" in form["notes"]
    assert "messages around a ring" in {row["dimension"] for row in form["dimensions"]}
