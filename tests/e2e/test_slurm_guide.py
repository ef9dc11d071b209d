"""docs/slurm.md's files: the batch script under a stand-in for Slurm on CPU processes, and the report of a job."""

import os
import subprocess
from pathlib import Path
from socket import socket

import pytest

from hocket.base.executables import search_path
from hocket.chakra import read_traces

ROOT = Path(__file__).parents[2]
SLURM = ROOT / "examples" / "slurm"
#: What a node of Slurm's has: `srun` runs the line once, as one task on one node; `scontrol` names it.
SRUN = '#!/bin/sh\nexec "$@"\n'
SCONTROL = "#!/bin/sh\necho localhost\n"


def installed(*folders: Path) -> dict[str, str]:
    """With `hocket` and `torchrun` on the path, which are beside the interpreter, behind these folders."""
    path = [*map(str, folders), search_path()]
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), "PATH": os.pathsep.join(path)}


def stand_ins(folder: Path) -> dict[str, str]:
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return installed(folder)


def free_port() -> int:
    """A job's number whose port nobody has: the script takes 20000 + the number modulo 20000."""
    for port in range(20000, 40000):
        with socket() as one:
            if one.connect_ex(("localhost", port)):
                return port
    raise AssertionError("no port is free")


def test_the_page_shows_the_file_that_is_shipped() -> None:
    page = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
    lines = (SLURM / "collect.sbatch").read_text(encoding="utf-8").splitlines()
    shown = "\n".join(line for line in lines if not line.startswith(("# Collects", "# shellcheck")))
    assert shown in page


@pytest.mark.parametrize("name", ["collect.sbatch", "container.sbatch", "report.sh"])
def test_scripts_are_whole_and_can_be_run(name: str) -> None:
    assert subprocess.run(["bash", "-n", SLURM / name]).returncode == 0 and os.access(SLURM / name, os.X_OK)


@pytest.mark.torch
def test_the_batch_script_leaves_traces(tmp_path: Path) -> None:
    slurm = {
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_ID": str(free_port()),
        "SLURM_JOB_NODELIST": "localhost",
        "SLURM_NNODES": "1",
        "GPUS": "2",
        "TRAIN": f"{ROOT}/examples/train_ddp.py --steps 4",
    }
    done = subprocess.run(
        ["bash", SLURM / "collect.sbatch"],
        env=stand_ins(tmp_path) | slurm,
        cwd=tmp_path,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    (job,) = (tmp_path / "traces").glob(f"train_ddp-*-{slurm['SLURM_JOB_ID']}-*")
    assert read_traces(job).num_ranks == 2 and "no disagreement" in (job / "summary.txt").read_text(encoding="utf-8")


def test_the_report_is_made_of_recorded_traces(tmp_path: Path) -> None:
    line = [SLURM / "report.sh", ROOT / "examples" / "traces", "ring:4,bandwidth=1GB/s,latency=100us", "report/"]
    done = subprocess.run(line, env=installed(), cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("open report/step.html and report/validate.html\n")
    assert all((tmp_path / "report" / name).stat().st_size > 1000 for name in ("step.html", "validate.html"))
