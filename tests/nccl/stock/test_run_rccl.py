"""RCCL's own code, run: it chooses as the model says; machines that are not modelled are run all the same."""

from pathlib import Path

import pytest
from in_process import hocket
from nccl_releases import RCCL_CHECKOUTS, needs_rccl

from hocket.base.errors import ExitCode

pytestmark = [needs_rccl, pytest.mark.timeout(3600)]


def run(out: Path, *arguments: str) -> str:
    done = hocket("nccl", "run-stock", "--source", str(RCCL_CHECKOUTS[-1]), "-o", str(out), "--max", "1GiB", *arguments)
    assert done.returncode == ExitCode.DONE, done.stderr
    return done.stdout


@pytest.mark.parametrize("spec", ["mi300x", "mi300x:nodes=2", "mi325x:nodes=3", "mi350x", "mi355x:nodes=2"])
def test_rccl_chooses_as_the_model_says(tmp_path: Path, spec: str) -> None:
    last = run(tmp_path / "run", "-t", spec).splitlines()[-2]
    agreeing, of = last.split()[0], last.split()[2]
    assert agreeing == of and "choices as modelled, times within 0.0" in last


def test_what_is_not_modelled_is_run_and_said(tmp_path: Path) -> None:
    said = run(tmp_path / "run", "-t", "mi300x:gpus=4", "-c", "all_reduce")
    assert "note: not compared with the model" in said and "all_reduce" in said
