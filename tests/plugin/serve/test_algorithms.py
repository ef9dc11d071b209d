"""Jobs of real ranks whose collectives run programs, compared with the same jobs under gloo's own algorithms."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import handmade
import pytest

pytestmark = pytest.mark.torch

RANKS = 4
JOB = Path(__file__).with_name("algorithms_job.py")


def torchrun(*arguments: Any, ranks: int = RANKS, **environment: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade.one_of_every_kind(tmp_path_factory.mktemp("programs") / "made")


@pytest.fixture(scope="module")
def job(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("job")
    report = folder / "report.json"
    done = torchrun(JOB, programs, folder, HOCKET_ALGORITHMS_REPORT=report)
    assert done.returncode == 0, done.stderr[-4000:]
    facts = [json.loads((folder / f"facts.{rank}.json").read_text()) for rank in range(RANKS)]
    return facts, done.stderr, json.loads(report.read_text())


def everyone(job: tuple[list[dict[str, Any]], str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Of every rank, of the native engine, of messages and of the device interpreter."""
    assert all(list(facts) == ["native", "p2p", "device"] for facts in job[0])
    return [of_engine for facts in job[0] for of_engine in facts.values()]


def test_every_collective_gives_the_same_bits_as_gloo(job: tuple[list[dict[str, Any]], str, Any]) -> None:
    for facts in everyone(job):
        # 8 types, 4 + 3 sizes of operations, 3 collectives; 4 types, 4 sizes, 6 collectives; 7 others; sync and async
        assert facts["cases"] == 2 * (8 * 7 * 3 + 4 * 4 * 6 + 7)
        assert facts["wrong"] == []


def test_training_ends_with_the_same_parameters(job: tuple[list[dict[str, Any]], str, Any]) -> None:
    for facts in everyone(job):
        assert list(facts["far"]) == ["ddp", "fsdp2", "fsdp2_with_replicas", "tensor_parallel"]
        assert max(facts["far"].values()) < 1e-6


def test_averages_and_asynchronous_works(job: tuple[list[dict[str, Any]], str, Any]) -> None:
    for facts in everyone(job):
        assert facts["average"] and facts["completed"]
        assert facts["future"] == [[4.0] * 4]


def test_report_says_what_ran_and_what_did_not(job: tuple[list[dict[str, Any]], str, dict[str, Any]]) -> None:
    _, printed, report = job
    for entry in report["algorithms"]:  # the same job on each engine
        assert entry["calls"] == 3 * entry["calls_by_p2p"] > 0, entry
    reasons = {(entry["operation"], entry["reason"]) for entry in report["stock"]}
    assert ("allreduce", "empty tensors") in reasons
    assert ("reduce_scatter_base", "no program for reduce_scatter on 2 ranks") in reasons
    (row,) = [line.split() for line in printed.splitlines() if "made/all_reduce_4.json" in line]
    calls = next(entry["calls"] for entry in report["algorithms"] if entry["file"] == row[0])
    assert row[1:6] == ["all_reduce", "on", "4", "ranks", str(calls)]
