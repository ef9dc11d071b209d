"""`hocket replay` on real ranks: what it issues is what a collector around it sees."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import replay_jobs

HOCKET = [sys.executable, "-m", "hocket"]
EXAMPLES = Path(__file__).parents[3] / "examples" / "traces"
TOPOLOGY = ["--topology", "fully_connected:4,bandwidth=1GB/s,latency=20us"]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return replay_jobs.write(tmp_path_factory.mktemp("job") / "traces", replay_jobs.every_kind())


def run(command: list[Any], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | variables
    return subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=200)


def mpiexec() -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which("mpiexec", path=path)
    if found is None:
        pytest.skip("needs mpiexec: pip install mpi4py mpich")
    return found


def collectives(folder: Path) -> list[dict[str, Any]]:
    done = run([*HOCKET, "trace", "info", folder, "--json", "-"])
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["collectives"]
    return found


@pytest.mark.torch
def test_a_collected_gloo_replay_has_the_collectives_of_its_traces(job: Path, tmp_path: Path) -> None:
    out, page, again = tmp_path / "replay.json", tmp_path / "replay.html", tmp_path / "again"
    options = ["--iterations", 1, "--warmup", 0, *TOPOLOGY, "--json", out, "--report", page]
    done = run([*HOCKET, "replay", job, *options], HOCKET_COLLECT=str(again))
    assert done.returncode == 0, done.stderr
    assert collectives(again) == collectives(job)
    report = json.loads(out.read_text())
    assert (report["format"], report["backend"], len(report["iterations_ps"])) == ("hocket.replay", "gloo", 1)
    assert report["measured_ps"] == report["iterations_ps"][0] > 0
    assert report["recorded_ps"] is None  # nobody ran the job
    rows = report["operations"]
    # 10 collectives of all, one of each half, 3 messages; busbw / algbw of an all_reduce of 4 ranks is 2 * 3 / 4
    assert len(rows) == 10 + 2 + 3
    assert all(row["count"] == 1 and row["measured_ps"] > 0 and row["predicted_ps"] > 0 for row in rows)
    reduced = next(row for row in rows if row["kind"] == "all_reduce" and row["group"] == "0")
    assert reduced["busbw"] == pytest.approx(1.5 * reduced["algbw"])
    assert {row["group"] for row in rows if row["kind"] == "message"} == {"0->1", "1->2", "2->3"}
    # the longest chain of computation: rank 3's 3 ms + 0.5 ms + 0.1 ms
    assert report["measured_ps"] > 3_600_000_000
    assert len(report["ranks"]) == 4
    assert "<html" in page.read_text(encoding="utf-8")


@pytest.mark.mpi
def test_a_collected_mpi_replay_has_the_collectives_of_its_traces(job: Path, tmp_path: Path) -> None:
    """The ranks are mpiexec's, as under any launcher."""
    again = tmp_path / "again"
    replay = [*HOCKET, "replay", job, "--backend", "mpi", "--iterations", 1, "--warmup", 0, "--compute", "none"]
    done = run([*HOCKET, "collect", "--out", again, "--mpi", mpiexec(), "-n", 4, *replay])
    assert done.returncode == 0, done.stderr
    assert collectives(again) == collectives(job)
    assert "waited for longest" in done.stdout


@pytest.mark.mpi
def test_a_generated_step_of_a_language_model_runs_on_mpi(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 1000,
        "max_position_embeddings": 128,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    plan = ["--tp", 2, "--pp", 2, "--global-batch", 2]
    made = run([*HOCKET, "generate", "llm", tmp_path / "config.json", *plan, "-o", tmp_path / "llm"])
    assert made.returncode == 0, made.stderr
    out = tmp_path / "replay.json"
    options = ["--backend", "mpi", "--iterations", 2, "--warmup", 0, "--compute", "spin", "--json", out]
    done = run([*HOCKET, "replay", tmp_path / "llm", *options])
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["operations"]
    # activations to the next stage and gradients back: 2 micro-batches each, for each of 2 tensor parallel ranks
    messages = {row["group"]: row["count"] for row in rows if row["kind"] == "message"}
    assert messages == {"0->2": 2, "1->3": 2, "2->0": 2, "3->1": 2}


@pytest.mark.torch
def test_torchrun_starts_the_ranks(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    out = tmp_path / "replay.json"
    options = ["--compute-scale", "1/100", "--iterations", 1, "--json", out]
    done = run([*torchrun, "-m", "hocket.replay", EXAMPLES, *options])
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text())
    assert sum(row["count"] for row in report["operations"]) == 12  # 4 a step
    # the README beside the traces has rank 0's: 180.3 ms of its 447.4 ms
    assert report["ranks"][0]["recorded_exposed_ps"] == pytest.approx(180.3e9, rel=0.01)


@pytest.mark.torch
def test_a_rank_that_others_wait_for_too_long_is_a_named_place(tmp_path: Path) -> None:
    """Rank 3 computes for 3 s before the first collective, and the others wait for half a second."""
    slow = replay_jobs.write(tmp_path / "slow", replay_jobs.every_kind())
    options = ["--compute-scale", "1000", "--timeout", "0.5", "--warmup", 0]
    done = run([*HOCKET, "replay", slow, *options])
    assert done.returncode == 3
    assert "has not ended in 0.5 s" in done.stderr
    assert "rank 0, node 1 (all_reduce)" in done.stderr
