"""Pipeline bubbles of simulated steps with free communication, against the papers' formulas."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_models import TINY

from hocket.chakra import NodeType, Trace, TraceSet
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import ParallelPlan, PipelineSchedule, llm_traces
from hocket.workload.llm.pipeline import PassKind, stage_tasks

FORWARD, INPUT, WEIGHT = 3000, 5000, 2000  # ns of each part of a layer, attention and feed-forward


def duration(name: str) -> int:
    """Layers last alike, all else nothing."""
    if "layer" not in name:
        return 0
    return INPUT if name.endswith("input gradient") else WEIGHT if name.endswith("weight gradient") else FORWARD


def timed(trace: Trace, duration_of: Callable[[str], int]) -> Trace:
    """The trace with other computation times and messages that cost nothing."""
    times = np.array([duration_of(trace.strings[name]) for name in trace.name])
    return replace(
        trace,
        duration_ns=np.where(trace.type == NodeType.COMP, times, 0),
        comm_bytes=np.where(trace.comm_bytes > 0, 0, trace.comm_bytes),
    )


def simulated_ns(plan: ParallelPlan) -> int:
    traces = llm_traces(TINY, plan, ACCELERATORS["h100"])
    free = TraceSet(tuple(timed(trace, duration) for trace in traces.traces), traces.groups)
    time_ps = simulate_traces(free, load(f"switch:{plan.pp},bandwidth=100GB/s,latency=0ns")).time_ps
    assert time_ps % 1000 == 0
    return time_ps // 1000


def layer_times(plan: ParallelPlan) -> tuple[int, int, int]:
    """Forward, input gradient and weight gradient of a micro-batch on a stage: each layer has two parts."""
    parts = 2 * TINY.layers // plan.pp
    return parts * FORWARD, parts * INPUT, parts * WEIGHT


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("micro_batches", [1, 3, 8])
def test_1f1b(stages: int, micro_batches: int) -> None:
    plan = ParallelPlan(pp=stages, global_batch=micro_batches)
    work = sum(layer_times(plan))
    # m micro-batches and p - 1 more slots to fill and drain: the bubble is (p - 1) / (m + p - 1) of the time.
    assert simulated_ns(plan) == (micro_batches + stages - 1) * work


@pytest.mark.parametrize(("stages", "chunks"), [(2, 2), (2, 4), (4, 2)])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_interleaving_divides_the_bubble_by_the_chunks(stages: int, chunks: int, rounds: int) -> None:
    micro_batches = rounds * stages
    plan = ParallelPlan(
        pp=stages, schedule=PipelineSchedule.INTERLEAVED, chunks=chunks, global_batch=micro_batches
    )  # fmt: skip
    work = sum(layer_times(plan))
    # arXiv:2104.04473, section 2.2.2: bubble time (p - 1) (t_f + t_b) / v.
    assert simulated_ns(plan) * chunks == micro_batches * work * chunks + (stages - 1) * work


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("rounds", [1, 2])
def test_zb_h1(stages: int, rounds: int) -> None:
    micro_batches = rounds * stages
    plan = ParallelPlan(pp=stages, schedule=PipelineSchedule.ZB_H1, global_batch=micro_batches)
    forward, inputs, weights = layer_times(plan)
    # arXiv:2401.10241, table 2: (p - 1) (T_F + T_B - T_W), T_B the input's gradient and T_W the weights'.
    bubble = (stages - 1) * (forward + inputs - weights)
    assert simulated_ns(plan) == micro_batches * (forward + inputs + weights) + bubble


@given(
    schedule=st.sampled_from(list(PipelineSchedule)),
    stages=st.integers(1, 9),
    chunks=st.integers(1, 4),
    rounds=st.integers(1, 4),
)
def test_every_pass_of_every_micro_batch_once(
    schedule: PipelineSchedule, stages: int, chunks: int, rounds: int
) -> None:
    chunks = chunks if schedule is PipelineSchedule.INTERLEAVED else 1
    split = (
        (PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT)
        if schedule is PipelineSchedule.ZB_H1
        else (PassKind.BACKWARD,)
    )
    expected = {
        (kind, chunk, micro_batch)
        for kind in (PassKind.FORWARD, *split)
        for chunk in range(chunks)
        for micro_batch in range(rounds * stages)
    }
    for stage in range(stages):
        tasks = stage_tasks(schedule, stage, stages, chunks, rounds * stages)
        assert len(tasks) == len(expected)
        assert {(task.kind, task.chunk, task.micro_batch) for task in tasks} == expected
