"""Options that name something: an unknown name is a usage error that lists the known ones; absent things are not."""

import subprocess
import sys
from pathlib import Path

import pytest


def hocket(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hocket", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("translate x.schedule --to nccl -o x.xml", "--to nccl: expected one of msccl, executor, rccl"),
        (
            "translate x.schedule --to msccl --protocol simple -o x.xml",
            "--protocol simple: expected one of Simple, LL, LL128",
        ),
        ("run x.xml --backend nccl", "--backend nccl: expected one of gloo, mpi"),
        ("run x.xml --dtype float", "--dtype float: expected one of int8, uint8"),
        ("run x.xml --op avg", "--op avg: expected one of sum, prod, max, min"),
        ("run x.xml --print nccl", "--print nccl: expected one of msccl, executor, rccl"),
        ("verify x.xml --profile nccl", "--profile nccl: expected one of msccl, executor, rccl"),
        ("synthesize custom -t ring:4 -s 1MiB", "COLLECTIVE custom: expected one of all_reduce, all_gather"),
        ("synthesize all_gather -t ring:4 -s 1MiB --engine z3", "--engine z3: expected one of auto"),
        ("generate collective all_sum --ranks 2 --size 1MiB -o t", "KIND all_sum: expected one of all_reduce"),
        ("simulate all_reduce -t ring:4 -s 1MiB --model exact", "--model exact: expected one of bound, analytical"),
        ("sweep x.yaml --executor slurm", "--executor slurm: expected one of serial, processes, mpi"),
    ],
)
def test_unknown_names_are_usage_errors_that_list_the_known(tmp_path: Path, arguments: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text("{topology: ring:4, collective: all_reduce, size: 1}")
    done = hocket(*arguments.split(), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "custom," not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


def test_a_topology_that_is_not_there_is_bad_input_and_one_that_is_wrong_a_failed_check(tmp_path: Path) -> None:
    assert hocket("topology", "check", "absent.yaml", folder=tmp_path).returncode == 3
    (tmp_path / "wrong.yaml").write_text("ranks: many\n")
    assert hocket("topology", "check", "wrong.yaml", folder=tmp_path).returncode == 1
    assert hocket("topology", "check", "ring:4,bandwidth=50", folder=tmp_path).returncode == 1


def test_a_schedule_is_not_run_but_translated_first(tmp_path: Path) -> None:
    done = hocket("run", "ar.schedule", folder=tmp_path)
    assert done.returncode == 3
    assert "first hocket translate ar.schedule --to executor -o ar.xml" in done.stderr
