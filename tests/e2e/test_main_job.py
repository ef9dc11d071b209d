"""The main job as a user does it: `hocket demo`, then every file it leaves, looked at with other tools."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def hocket(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hocket", *arguments], cwd=cwd, capture_output=True, text=True, timeout=540
    )


def check_demo(folder: Path, printed: str) -> None:
    """What must hold of a finished demo, however its traces came about."""
    for name in ("report.html", "ar.schedule", "ar.xml", "timeline.json.gz", "log.txt", "traces/trace.3.et"):
        assert (folder / name).stat().st_size > 0, name
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
    # The new all_reduce is for the slowest machine, and it pays there.
    assert after["time_ps"] < max(prediction["time_ps"] for prediction in before.values())
    executed = json.loads((folder / "run.json").read_text())
    assert executed["wrong"] == 0
    assert [row["size_bytes"] for row in executed["rows"]] == [2**16, 2**18, 2**20, 2**22]


@pytest.fixture(scope="module")
def torch_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "out"
    done = hocket("demo", "--out", str(folder), cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    check_demo(folder, done.stdout)
    return folder


@pytest.mark.torch
def test_demo_with_a_real_training_run(torch_demo: Path) -> None:
    summary = json.loads((torch_demo / "traces" / "summary.json").read_text())
    assert [rank["rank"] for rank in summary["ranks"]] == [0, 1, 2, 3]


@pytest.mark.mpi
def test_demo_with_recorded_traces_runs_on_mpi(tmp_path: Path) -> None:
    done = hocket("demo", "--no-torch", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recorded in examples/traces" in done.stdout
    check_demo(tmp_path / "out", done.stdout)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["transport"] == "mpi"


@pytest.mark.torch
@pytest.mark.browser
def test_report_opens_in_a_browser(torch_demo: Path, browser: Any) -> None:
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((torch_demo / "report.html").as_uri())
    figures = page.locator("figure").count()
    assert figures == 4
    page.wait_for_function(f"document.querySelectorAll('figure .main-svg').length >= {figures}")
    assert problems == []
    assert page.locator("h2").all_inner_texts() == [
        "In numbers",
        "Collected",
        "Predicted",
        "Synthesized",
        "Executed",
        "Next",
    ]
    page.close()
