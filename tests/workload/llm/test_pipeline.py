"""Pipeline bubbles of simulated steps with free communication, against the papers' formulas."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_models import EXPERTS, TINY

from hocket.chakra import NodeType, Trace, TraceSet
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import ParallelPlan, PipelineSchedule, llm_traces
from hocket.workload.llm.passes import PassKind
from hocket.workload.llm.pipeline import stage_tasks

FORWARD, INPUT, WEIGHT = 3000, 5000, 2000  # ns of each part of a layer, attention and feed-forward


def duration(name: str) -> int:
    """Layers last alike, all else nothing."""
    if "layer" not in name:
        return 0
    return INPUT if name.endswith("input gradient") else WEIGHT if name.endswith("weight gradient") else FORWARD


def as_long_as_forward(name: str) -> int:
    return FORWARD if "layer" in name and name.endswith("input gradient") else duration(name)


def timed(trace: Trace, duration_of: Callable[[str], int]) -> Trace:
    """The trace with other computation times and messages that cost nothing."""
    times = np.array([duration_of(trace.strings[name]) for name in trace.name])
    return replace(
        trace,
        duration_ns=np.where(trace.type == NodeType.COMP, times, 0),
        comm_bytes=np.where(trace.comm_bytes > 0, 0, trace.comm_bytes),
    )


def simulated_ns(plan: ParallelPlan, duration_of: Callable[[str], int] = duration) -> int:
    traces = llm_traces(TINY, plan, ACCELERATORS["h100"])
    free = TraceSet(tuple(timed(trace, duration_of) for trace in traces.traces), traces.groups)
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


def spans_ns(plan: ParallelPlan, duration_of: Callable[[str], int]) -> list[int]:
    """What each rank takes from its first computation to the end of its last."""
    traces = llm_traces(TINY, plan, ACCELERATORS["h100"])
    free = TraceSet(tuple(timed(trace, duration_of) for trace in traces.traces), traces.groups)
    prediction = simulate_traces(free, load(f"switch:{plan.pp},bandwidth=100GB/s,latency=0ns"))
    spans = []
    for rank, trace in enumerate(free.traces):
        rows = np.flatnonzero((trace.type == NodeType.COMP) & (trace.duration_ns > 0)) + sum(
            map(len, free.traces[:rank])
        )
        spans.append(int(prediction.node_finish_ps[rows].max() - prediction.node_start_ps[rows].min()) // 1000)
    return spans


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("more", [-1, 0, 5])
def test_zb_v_has_no_bubble_where_all_passes_last_alike(stages: int, more: int) -> None:
    micro_batches = 2 * stages + more
    plan = ParallelPlan(pp=stages, schedule=PipelineSchedule.ZB_V, global_batch=micro_batches)
    # arXiv:2401.10241, section 6: with T_F = T_B = T_W no stage ever waits.
    work = 3 * FORWARD * 2 * TINY.layers // stages
    assert spans_ns(plan, lambda name: FORWARD if "layer" in name else 0) == [micro_batches * work] * stages


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("rounds", [2, 3])
def test_dualpipe(stages: int, rounds: int) -> None:
    micro_batches = rounds * stages
    plan = ParallelPlan(pp=stages, schedule=PipelineSchedule.DUALPIPE, global_batch=micro_batches)
    forward, _, weights = layer_times(plan)
    # arXiv:2412.19437, table 2: (PP / 2 - 1) (F&B + B - 3 W), B both gradients; without communication F&B is F + B. It
    # takes the input's gradient to last as long as the forward pass.
    backward = forward + weights
    bubble = (stages // 2 - 1) * (forward + backward + backward - 3 * weights)
    assert simulated_ns(plan, as_long_as_forward) == micro_batches * (forward + backward) + bubble


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("more", [0, 3])
def test_dualpipe_v(ranks: int, more: int) -> None:
    micro_batches = 2 * ranks + more
    plan = ParallelPlan(pp=ranks, schedule=PipelineSchedule.DUALPIPE_V, global_batch=micro_batches)
    # The same formula, whose PP are the 2 * ranks parts of the model.
    forward, _, weights = (time // 2 for time in layer_times(plan))
    backward = forward + weights
    bubble = (ranks - 1) * (forward + backward + backward - 3 * weights)
    assert simulated_ns(plan, as_long_as_forward) == 2 * micro_batches * (forward + backward) + bubble


def test_dualpipe_hides_communication_of_one_pass_behind_the_other() -> None:
    """As DeepSeek-V3's: the all_to_alls of a forward pass run while the backward pass computes, and the other way."""
    plan = ParallelPlan(pp=2, dp=4, ep=4, schedule=PipelineSchedule.DUALPIPE, global_batch=32)
    topology = load("switch:8,bandwidth=300GB/s,latency=100ns")

    def time_ps(plan: ParallelPlan) -> int:
        traces = llm_traces(EXPERTS, plan, ACCELERATORS["h100"])
        without = TraceSet(tuple(map(without_optimizer, traces.traces)), traces.groups)
        return simulate_traces(without, topology).time_ps

    assert time_ps(plan) < 0.9 * time_ps(replace(plan, schedule=PipelineSchedule.ZB_H1, chunks=1))


def without_optimizer(trace: Trace) -> Trace:
    """DualPipe has twice the parameters, whose sums and updates would hide what is compared."""
    updates = np.array([trace.strings[name] == "optimizer" for name in trace.name])
    return replace(
        trace,
        duration_ns=np.where(updates, 0, trace.duration_ns),
        comm_bytes=np.where(trace.comm_priority == 0, 0, trace.comm_bytes),
    )


def test_zb_v_is_pytorchs() -> None:
    schedules = pytest.importorskip("torch.distributed.pipelining.schedules", reason="PyTorch is not installed")
    kinds = {
        "FORWARD": PassKind.FORWARD,
        "BACKWARD_INPUT": PassKind.INPUT_GRADIENT,
        "BACKWARD_WEIGHT": PassKind.WEIGHT_GRADIENT,
    }
    for stages, micro_batches in ((1, 3), (2, 5), (3, 4), (4, 16), (8, 20)):
        theirs = SimpleNamespace(pp_group_size=stages, _n_microbatches=micro_batches, num_stages=2 * stages)
        for stage in range(stages):
            actions = schedules.ScheduleZBVZeroBubble._calculate_single_rank_operations(theirs, stage)
            expected = [
                (kinds[action.computation_type.name], int(action.stage_index != stage), action.microbatch_index)
                for action in actions
                if action
            ]
            tasks = stage_tasks(PipelineSchedule.ZB_V, stage, stages, 2, micro_batches)
            assert [(task.kind, task.chunk, task.micro_batch) for task in tasks] == expected


@given(
    schedule=st.sampled_from(list(PipelineSchedule)),
    stages=st.integers(1, 9),
    chunks=st.integers(1, 4),
    rounds=st.integers(1, 4),
)
def test_every_pass_of_every_micro_batch_once(
    schedule: PipelineSchedule, stages: int, chunks: int, rounds: int
) -> None:
    """A backward pass is both gradients, or each of them once."""
    chunks = chunks if schedule is PipelineSchedule.INTERLEAVED else 2 if schedule.two_chunks else 1
    stages += stages % 2 if schedule is PipelineSchedule.DUALPIPE else 0
    micro_batches = (rounds + schedule.two_chunks) * stages
    for stage in range(stages):
        tasks = stage_tasks(schedule, stage, stages, chunks, micro_batches)
        done = Counter(
            (kind, task.chunk, task.micro_batch)
            for task in tasks
            for kind in (
                (PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT) if task.kind is PassKind.BACKWARD else (task.kind,)
            )
        )
        halves = schedule is PipelineSchedule.DUALPIPE  # each chunk is met by half of the micro-batches
        assert done == Counter(
            (kind, chunk, micro_batch)
            for kind in (PassKind.FORWARD, PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT)
            for chunk in range(chunks)
            for micro_batch in range(micro_batches)
            if not halves or (micro_batch >= micro_batches // 2) == chunk
        )
