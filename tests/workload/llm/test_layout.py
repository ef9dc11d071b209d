"""Which layers lie where: uneven pipelines."""

from collections import Counter

import numpy as np
import pytest
from llm_models import EXPERTS, TINY

from hocket.base.errors import Infeasible
from hocket.chakra import NodeType, Trace
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import MODELS, ContextMethod, ParallelPlan, PipelineSchedule, llm_traces
from hocket.workload.llm.layout import deal

DEEPSEEK = MODELS["deepseek-v3"]


def sizes(plan: ParallelPlan) -> list[list[int]]:
    return [[len(plan.layers_of(DEEPSEEK, stage, chunk)) for chunk in range(plan.chunks)] for stage in range(plan.pp)]


def layers_computed(trace: Trace) -> Counter[str]:
    """Forward passes of the attention of each layer."""
    names = [trace.strings[name] for name in trace.name[trace.type == NodeType.COMP]]
    return Counter(name.split()[3] for name in names if name.startswith("forward") and name.endswith("attention"))


def test_the_ends_have_fewer_layers_where_they_do_not_divide() -> None:
    # 61 = 13 * 4 + 3 * 3: the stage of the output, that of the embedding, then the one before the last.
    assert sizes(ParallelPlan(pp=16)) == [[3], *[[4]] * 13, [3], [3]]
    assert deal(8, 4) == [2] * 4
    assert deal(9, 4) == [2, 3, 2, 2]
    assert deal(1, 1) == [1]


def test_first_and_last_stage_as_in_megatron() -> None:
    # Megatron-LM's num_layers_in_first/last_pipeline_stage: the stages between share the rest.
    assert sizes(ParallelPlan(pp=16, first_stage_layers=3, last_stage_layers=2)) == [[3], *[[4]] * 14, [2]]
    assert sizes(ParallelPlan(pp=6, last_stage_layers=11)) == [[10]] * 5 + [[11]]
    many = ParallelPlan(pp=4, chunks=2, schedule=PipelineSchedule.INTERLEAVED, first_stage_layers=13)
    assert sizes(many) == [[7, 6], *[[8, 8]] * 3]


def test_layers_of_stages_or_of_parts() -> None:
    interleaved = PipelineSchedule.INTERLEAVED
    assert sizes(ParallelPlan(pp=4, layers_per_stage=(10, 20, 20, 11))) == [[10], [20], [20], [11]]
    assert sizes(ParallelPlan(pp=2, chunks=2, schedule=interleaved, layers_per_stage=(11, 50))) == [[6, 5], [25, 25]]
    parts = ParallelPlan(pp=2, chunks=2, schedule=interleaved, layers_per_stage=(1, 10, 20, 30))
    assert sizes(parts) == [[1, 20], [10, 30]]
    # In a V the last part is the first stage's.
    assert sizes(ParallelPlan(pp=2, schedule=PipelineSchedule.ZB_V, layers_per_stage=(1, 10, 20, 30))) == [
        [1, 30],
        [10, 20],
    ]


def test_dualpipe_has_every_part_twice() -> None:
    plan = ParallelPlan(pp=4, schedule=PipelineSchedule.DUALPIPE, global_batch=8, layers_per_stage=(10, 20, 20, 11))
    assert sizes(plan) == [[10, 11], [20, 20], [20, 20], [11, 10]]


@pytest.mark.parametrize("schedule", list(PipelineSchedule))
def test_every_layer_is_computed_once_a_micro_batch(schedule: PipelineSchedule) -> None:
    chunks = 2 if schedule is PipelineSchedule.INTERLEAVED else 1
    plan = ParallelPlan(pp=2, schedule=schedule, chunks=chunks, layers_per_stage=(5, 3), global_batch=4)
    done: Counter[str] = Counter()
    for trace in llm_traces(EXPERTS, plan, ACCELERATORS["h100"]).traces:
        done += layers_computed(trace)
    assert done == Counter({str(layer): 4 for layer in range(8)})


def test_dense_layers_lie_where_they_lie() -> None:
    plan = ParallelPlan(pp=16, dp=8, ep=8, global_batch=16 * 8)
    traces = llm_traces(DEEPSEEK, plan, ACCELERATORS["h100"]).traces
    has_experts = [any("dispatch" in text for text in traces[8 * stage].strings) for stage in range(16)]
    assert has_experts == [False] + [True] * 15  # layers 0 to 2 are dense, and the first stage has just these


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ParallelPlan(pp=2, layers_per_stage=(3, 4)), "the stages' layers are 7, and the model has 8"),
        (ParallelPlan(pp=2, layers_per_stage=(3, 4, 1)), "layers are told of 3 stages, and there are 2"),
        (ParallelPlan(pp=16), "8 layers are too few for pp 16 \\* 1 chunks"),
        (ParallelPlan(pp=4, first_stage_layers=7), "1 of 8 layers are left for 3 stages"),
        (ParallelPlan(pp=2, first_stage_layers=7, last_stage_layers=1), "pp 2 leaves no stage"),
        (ParallelPlan(pp=2, first_stage_layers=2, embeddings_count=True), "choose one"),
        (ParallelPlan(pp=2, schedule=PipelineSchedule.DUALPIPE), "needs 2 \\* pp = 4 micro-batches"),
        (ParallelPlan(pp=4, schedule=PipelineSchedule.DUALPIPE, zero=2, global_batch=9), "ZeRO 0 or 1, not 2"),
        (
            ParallelPlan(pp=4, schedule=PipelineSchedule.DUALPIPE, global_batch=9),
            "9 micro-batches among two directions",
        ),
        (ParallelPlan(schedule=PipelineSchedule.ZB_V), "the zb-v schedule needs pp above 1"),
        (ParallelPlan(cp=8, context=ContextMethod.ULYSSES), "8 context parallel ranks cannot share out a rank's 4"),
        (ParallelPlan(cp=4, context_inner=2), "hierarchical context parallelism, and it alone"),
        (ParallelPlan(pp=2, chunks=3, schedule=PipelineSchedule.ZB_V), "2 chunks of layers per stage, not 3"),
    ],
)
def test_what_cannot_be_is_refused(plan: ParallelPlan, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        llm_traces(TINY, plan, ACCELERATORS["h100"])


def test_nodes_say_which_pass_they_are_of() -> None:
    plan = ParallelPlan(pp=2, dp=2, global_batch=4)
    trace = llm_traces(TINY, plan, ACCELERATORS["h100"]).traces[2]
    said = bytes(trace.rest[trace.rest_offset[0] : trace.rest_offset[1]])
    assert all(word in said for word in (b"pass", b"forward", b"stage", b"micro_batch"))
    assert np.all(np.diff(trace.rest_offset) > 0)
