"""The benchmark of published steps: its rows, and that a folded step is the simulated one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hocket.bench.published.folded import KINDS, FoldedStep
from hocket.bench.published.rows import Job, newest, read_rows
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import parse_accelerator
from hocket.workload.kernels import BENCHMARKED
from hocket.workload.llm import MODELS, ParallelPlan, PipelineSchedule, llm_traces

BASE = replace(parse_accelerator("h100"), kernels=BENCHMARKED, memory_efficiency=Fraction(1))
INTERLEAVED = PipelineSchedule.INTERLEAVED


@pytest.mark.parametrize(
    ("model", "plan", "within"),
    [
        ("llama3-8b", ParallelPlan(tp=2, pp=2, dp=2, zero=1, global_batch=32, sequence_parallel=True), 1e-4),
        ("llama3-8b", ParallelPlan(dp=8, zero=3, global_batch=48), 1e-9),
        ("llama3-8b", ParallelPlan(tp=4, pp=2, global_batch=32, schedule=INTERLEAVED, chunks=2), 1e-3),
        # Rings of keys and values, and tokens of experts, go as messages, which the benchmark prices by bandwidths.
        ("llama3-8b", ParallelPlan(cp=4, dp=2, zero=1, global_batch=8), 0.01),
        ("qwen3-30b-a3b", ParallelPlan(dp=8, ep=8, zero=1, global_batch=32), 0.03),
    ],
)
def test_a_folded_step_is_the_simulated_one(model: str, plan: ParallelPlan, within: float) -> None:
    card = replace(MODELS[model], layers=4)
    job = Job(0, model, card, plan, "H100", "dgx-h100:nodes=1", "h100", 1.0, "")
    folded = FoldedStep(job).path(np.ones(len(KINDS))).sum()
    simulated = simulate_traces(llm_traces(card, plan, BASE), load("dgx-h100:nodes=1"), algorithms="nccl-model")
    assert folded == pytest.approx(simulated.time_ps / 1e12, rel=within)


def test_every_row_is_a_job_or_has_a_reason() -> None:
    jobs, left = read_rows()
    assert sorted([job.row for job in jobs] + [row for row, _ in left]) == list(range(448))
    assert all(reason for _, reason in left)
    assert len(jobs) > 250
    assert {job.row for job in newest(jobs)} <= {job.row for job in jobs}


def test_rows_are_what_their_pages_say() -> None:
    found = {job.row: job for job in read_rows()[0]}
    # Llama 3.1 405B on 1024 H100: TP 8, PP 8 x 8 chunks of a layer each with embedding and output, DP 8, CP 2.
    plan = found[26].plan
    assert (plan.tp, plan.pp, plan.chunks, plan.dp, plan.cp, plan.micro_batches) == (8, 8, 8, 8, 2, 192)
    assert plan.embeddings_count
    assert found[26].seconds == pytest.approx(1536 * 8192 / (326 * 1024))
    # MPT-70b on 512: FSDP with full recomputation.
    assert (found[302].plan.zero, str(found[302].plan.recomputation)) == (3, "full")
    assert found[302].seconds == pytest.approx(16.270, abs=1e-3)  # as derived in the row's notes
