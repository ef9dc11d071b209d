"""Inference with graphs on two ranks, on the device `late`: captured once, replayed at each step, simulated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import streams
from in_process import hocket

from hocket.chakra import read_traces
from hocket.chakra.trace import NodeType
from hocket.chakra.validate import validate
from hocket.recording.folder import stream_path
from hocket.recording.recording import Recording, read_recording

pytestmark = pytest.mark.torch

STEPS, PROMPT = 20, 3
FORWARD = ["all_reduce", "all_reduce", "all_gather"]  # what a forward pass calls: two layers, then the words


@pytest.fixture(scope="module", params=["native", "python"])
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The merged job of inference_job.py, by either hook."""
    if pytest.importorskip("torch").__version__ < "2.5":
        pytest.skip("PyTorch 2.4's devices are not asked for times")
    out = tmp_path_factory.mktemp("inference")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = str(Path(__file__).with_name("inference_job.py"))
    environment = {
        "HOCKET_COLLECT_HOOK": request.param,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    finished = subprocess.run(
        [*torchrun, "-m", "hocket.collect", "--out", str(out), script, str(STEPS)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr
    return streams.job(out)


@pytest.fixture
def recordings(job: Path) -> list[Recording]:
    return [read_recording(stream_path(job, rank)) for rank in range(2)]


def test_each_replay_is_recorded_and_the_capture_is_not(recordings: list[Recording]) -> None:
    for recording in recordings:
        shapes = [recording.shapes[number] for number in recording.columns.shape.tolist()]
        by_graph = [shape.kind for shape in shapes if shape.graph is not None]
        assert by_graph == FORWARD * STEPS
        assert len(shapes) - len(by_graph) == len(FORWARD) * (PROMPT + STEPS + PROMPT)
        # The captured calls have the first numbers of their group.
        assert recording.columns.sequence.tolist() == list(range(len(FORWARD), len(FORWARD) + len(shapes)))
        calls, steps = len(by_graph), recording.columns.step
        assert f"when {calls} calls in {STEPS} replays of graphs ran: they have the replay's times" in recording.unseen
        behind = [shape.graph is not None for shape in shapes]
        assert steps[behind].tolist() == [STEPS + 2 + step for step in range(STEPS) for _ in FORWARD]


def test_ranks_agree_and_their_traces_can_be_simulated(job: Path) -> None:
    summary = (job / "summary.txt").read_text()
    assert "all ranks recorded, all collectives complete, no disagreement between ranks" in summary
    traces = read_traces(job)
    assert validate(traces) == []
    calls = [int((trace.type == NodeType.COMM_COLL).sum()) for trace in traces.traces]
    assert calls == [len(FORWARD) * (2 * PROMPT + 2 * STEPS)] * 2
    simulated = hocket("simulate", job, "-t", "switch:2,bandwidth=50GB/s,latency=1us")
    assert simulated.returncode == 0, simulated.stderr
    counted = [line.split("ranks")[0].split() for line in simulated.stdout.splitlines() if " x all_" in line]
    number = 2 * PROMPT + 2 * STEPS
    assert sorted(words[:3] for words in counted) == [
        [str(number), "x", "all_gather"],
        [str(2 * number), "x", "all_reduce"],
    ]
