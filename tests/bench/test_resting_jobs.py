"""Verdicts on real jobs of four processes on gloo, whose late ranks rest half a step longer."""

import subprocess
import sys
from pathlib import Path

import pytest

from hocket.bench.stragglers import named, verdict_in

# In a process of its own, which forks: this one has threads.
RUN = "import sys, pathlib, hocket.bench.resting_jobs as jobs; jobs.run_job(pathlib.Path(sys.argv[1]), sys.argv[2:])"


@pytest.mark.parametrize(("shape", "late"), [("pipeline", 2), ("grid", 1)])
def test_who_is_late_in_a_real_job_is_named(tmp_path: Path, shape: str, late: int) -> None:
    job = [shape, "--steps", "40", "--share", "0.5", "--late", str(late)]
    subprocess.run([sys.executable, "-c", RUN, str(tmp_path), *job], check=True)
    assert {ranks for kind, ranks in named(verdict_in(tmp_path)) if kind == "rank"} == {(late,)}
