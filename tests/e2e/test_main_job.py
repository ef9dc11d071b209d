"""The main job as a user does it: `hocket demo`, then every file it leaves, looked at with other tools."""

import html
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import opened

from hocket.api.demo.contest import Contest
from hocket.api.demo.machine import ContestMachine, ContestTime, PricedProgram
from hocket.base.units import format_time
from hocket.chakra.job_folders import find_job
from hocket.schedule import Collective, Kind, Program
from hocket.topology import load

PROGRAM = Program("none", Kind.ALL_REDUCE, 6, 1, "Simple", True, False, 0, 0, ())


def hocket(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hocket", *arguments], cwd=cwd, capture_output=True, text=True, timeout=540
    )


def check_demo(folder: Path, printed: str) -> None:
    """What must hold of a finished demo, however its traces came about."""
    for name in ("report.html", "ar.schedule", "ar.xml", "timeline.json.gz", "log.txt"):
        assert (folder / name).stat().st_size > 0, name
    assert (find_job(folder / "traces").path / "trace.3.et").stat().st_size > 0
    assert "Try next" in printed

    for command in (["verify", "ar.schedule"], ["verify", "ar.xml"], ["trace", "validate", "traces"]):
        done = hocket(*command, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    synthesis = json.loads((folder / "synthesis.json").read_text())
    assert synthesis["bound_ps"] <= synthesis["time_ps"]
    before = {path.stem: json.loads(path.read_text()) for path in (folder / "predictions").glob("*.json")}
    after = json.loads((folder / "after.json").read_text())
    assert len(before) == 3
    assert not any(prediction["below_bound"] for prediction in [*before.values(), after])
    # The new all_reduce is for the slowest machine; on the links alone the job is sooner done with it.
    assert after["time_ps"] < max(prediction["time_ps"] for prediction in before.values())
    executed = json.loads((folder / "run.json").read_text())
    assert executed["wrong"] == 0
    assert executed["transport"] == "shm"
    assert [row["size_bytes"] for row in executed["rows"]] == [2**16, 2**18, 2**20, 2**22]
    check_contests(folder, printed)


def check_contests(folder: Path, printed: str) -> None:
    """All four are named, in the summary and the report, with times that commands say, and the verdicts follow."""
    report = html.unescape((folder / "report.html").read_text())
    job, part, whole = json.loads((folder / "contests.json").read_text())
    assert [part["wins"], whole["wins"]] == [True, False]
    for contest in (job, part, whole):
        program, native = contest["synthesized_program"], contest["native_program"]
        assert contest["bound"]["time_ps"] <= contest["synthesized"]["time_ps"]
        rivals = [contest[name]["time_ps"] for name in ("stock", "stock_model", "native_program")]
        assert contest["wins"] == (1.01 * program["time_ps"] < min(rivals)), "a gain within 1 % is none"
        verdict = "wins, " if contest["wins"] else "does not win here: "
        title = f"on {contest['topology']}: synthesis {verdict}"
        for text in (printed, report):
            assert title in text
            for name in ("stock", "stock_model", "native", "synthesized", "bound"):
                assert f"{contest[name]['name']}: {format_time(contest[name]['time_ps'])}" in text, name
            for each in (program, native):
                assert re.search(f"{each['name']}(, . copies)?: {format_time(each['time_ps'])}", text)
    assert printed.count("synthesis wins") == sum(contest["wins"] for contest in (job, part, whole)) + (
        "synthesis wins." in printed
    )
    for contest in (part, whole):
        check_by_command(folder, contest)


def check_by_command(folder: Path, contest: dict[str, Any]) -> None:
    """The stock library's and the native algorithm's times, asked for one by one."""

    def taken(algorithm: str, chunks: str = "1") -> int:
        what = ["simulate", "all_reduce", "-t", contest["topology"], "-s", str(contest["size_bytes"])]
        options = ["--algorithm", algorithm, "--chunks", chunks, "--json", "asked.json"]
        done = hocket(*what, *options, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return int(json.loads((folder / "asked.json").read_text())["time_ps"])

    assert taken("nccl") == contest["stock"]["time_ps"]
    assert taken("nccl-model") == contest["stock_model"]["time_ps"]
    chunks = re.search(r" of (\d+) chunks", contest["native"]["name"])
    assert taken("auto", chunks[1] if chunks else "1") == contest["native"]["time_ps"] <= taken("auto")
    # what wins with costs wins over the best native on the links alone as well, although that pays none
    assert contest["wins"] <= (contest["synthesized_program"]["time_ps"] < contest["native"]["time_ps"])


@pytest.fixture(scope="module")
def torch_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "out"
    done = hocket("demo", "--out", str(folder), cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    check_demo(folder, done.stdout)
    return folder


@pytest.mark.torch
def test_demo_with_a_real_training_run(torch_demo: Path) -> None:
    summary = json.loads((torch_demo / "traces" / "latest" / "summary.json").read_text())
    assert [rank["rank"] for rank in summary["ranks"]] == [0, 1, 2, 3]


@pytest.mark.mpi
def test_demo_with_recorded_traces_runs_on_mpi(tmp_path: Path) -> None:
    done = hocket("demo", "--no-torch", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recorded in examples/traces" in done.stdout
    check_demo(tmp_path / "out", done.stdout)
    over_mpi = json.loads((tmp_path / "out" / "run-mpi.json").read_text())
    assert over_mpi["transport"] == "mpi"
    assert over_mpi["wrong"] == 0
    assert all(row["reference"] for row in over_mpi["rows"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "transport shm" in report
    assert "MPI's own busbw" in html.unescape(report)


def test_verdicts_follow_from_the_times_both_ways() -> None:
    program = PricedProgram("trees", 100, PROGRAM, 4)
    ring = ContestTime("NCCL Ring/Simple", 200)
    contest = Contest(
        path=Path("ar.schedule"),
        machine=ContestMachine(load("dgx-1:gpus=6")),
        collective=Collective(Kind.ALL_REDUCE, 6, 96, 1),
        stock=ring,
        stock_model=ContestTime("NCCL's model Ring/Simple", 210),
        native=ContestTime("direct", 150),
        native_program=PricedProgram("direct", 160, PROGRAM, 1),
        synthesized=ContestTime("trees", 90),
        synthesized_program=program,
        bound=ContestTime("cut", 80),
    )
    assert contest.wins
    assert contest.verdict == (
        "wins, 1.60 times as fast as the next: 100 ps against 160 ps of direct and 200 ps of NCCL Ring/Simple"
    )
    # As quick as a rival is no win, and neither is less than NCCL where a native program takes less.
    for changed in (
        replace(contest, stock=replace(ring, time_ps=100)),
        replace(contest, stock_model=replace(ring, time_ps=99)),
        replace(contest, native_program=PricedProgram("direct", 100, PROGRAM, 1)),
    ):
        assert not changed.wins
        assert changed.verdict.startswith("does not win here: 100 ps against ")
    assert replace(contest, native_program=None).wins  # whom nothing fits is no rival


@pytest.mark.torch
@pytest.mark.browser
def test_report_opens_in_a_browser(torch_demo: Path, browser: Any) -> None:
    with opened(browser, torch_demo / "report.html") as page:
        assert page.locator("figure").count() == page.locator("svg.chart").count() == 5
        heads = ["Summary", "Collected", "Predicted", "Contest", "Synthesized", "Executed", "Next", "Provenance"]
        assert page.locator("h2").all_inner_texts() == heads
