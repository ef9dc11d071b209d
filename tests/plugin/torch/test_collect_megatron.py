"""A job divided as Megatron-LM divides: every call is recorded, in the groups that it names."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import streams

from hocket.bench.public_jobs import PublicJob, perform
from hocket.chakra import read_traces
from hocket.recording.folder import stream_path
from hocket.simulator.analysis.dimensions import dimension_of_group, purposes_of_groups

pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_megatron.py"
STEPS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where 8 ranks were recorded, 2 tensor parallel, 2 stages, 2 copies; each call held against PyTorch's profiler."""
    if not hasattr(pytest.importorskip("torch"), "accelerator"):
        pytest.skip("what counts calls stands in for torch.accelerator")
    folder = tmp_path_factory.mktemp("megatron")
    seen = perform(PublicJob(8, EXAMPLE.name, ("--steps", str(STEPS))), EXAMPLE.parent, folder)
    assert (seen.recorded, seen.wrong) == (seen.profiler, "")
    return folder


def test_any_division_of_the_ranks_learns_the_same(folder: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1", str(EXAMPLE)]
    alone = subprocess.run(
        [*command, "--tensor", "1", "--pipeline", "1", "--steps", str(STEPS)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    losses = [re.findall(r"step \d loss [\d.]+", text) for text in (alone.stdout, (folder / "log.txt").read_text())]
    assert len(losses[0]) == STEPS and losses[0] == losses[1]


def test_the_calls_are_those_of_the_schedule(folder: Path) -> None:
    """Of each rank, by its place: what it calls in three steps of four micro-batches."""
    job = streams.job(folder / "out")
    found = [Counter(call["op"] for call in streams.calls(stream_path(job, rank))) for rank in range(8)]
    for rank, calls in enumerate(found):
        is_last = rank >= 4  # of two stages, which lie furthest apart
        # Two blocks per stage, each with two sums forward and two backward.
        assert calls["allreduce_"] == STEPS * (4 * 2 * 4 + is_last)
        assert (calls["send"], calls["recv_"]) == (STEPS * 4, STEPS * 4)
        # The first stage has 2 * 6272 parameters of its blocks and 1024 of words or head, in buckets of 8192 at least.
        assert (calls["_reduce_scatter_base_"], calls["_allgather_base_"]) == (STEPS * 2, STEPS * 2)
        assert sum(calls.values()) == calls["allreduce_"] + STEPS * 12


def test_groups_are_known_as_tensor_pipeline_and_data_parallel(folder: Path) -> None:
    traces = read_traces(folder / "out")
    purposes = purposes_of_groups(traces)
    named: dict[str, list[tuple[int, ...]]] = {}
    for name, ranks in traces.groups.items():
        named.setdefault(dimension_of_group(name, len(ranks), 8, purposes[name]), []).append(ranks)
    assert {dimension: sorted(groups) for dimension, groups in named.items()} == {
        "TP": [(0, 1), (2, 3), (4, 5), (6, 7)],
        "DP": [(0, 2), (1, 3), (4, 6), (5, 7)],
        "PP": [(0, 4), (1, 5), (2, 6), (3, 7)],
    }
