"""Memory estimates, against the papers' arithmetic."""

from dataclasses import replace

import pytest
from llm_models import TINY

from hocket.workload.llm import MODELS, AttentionKernel, ParallelPlan, PipelineSchedule, Recomputation
from hocket.workload.llm.memory import memory_of


@pytest.mark.parametrize(("zero", "bytes_of_a_parameter"), [(0, 2 + 4 + 12), (1, 2 + 4 + 3), (2, 2 + 1 + 3)])
def test_zero_divides_the_model_states(zero: int, bytes_of_a_parameter: int) -> None:
    # arXiv:1910.02054, figure 1, with gradients in FP32 and 4 replicas: 12 bytes of optimizer, then 4 of gradients.
    memory = memory_of(TINY, ParallelPlan(dp=4, zero=zero, global_batch=4), 0)
    assert memory.parameters + memory.gradients + memory.optimizer == TINY.num_parameters * bytes_of_a_parameter


def test_fsdp_keeps_two_layers_whole() -> None:
    memory = memory_of(TINY, ParallelPlan(dp=4, zero=3, global_batch=4), 0)
    layer = 256 * 512 + 256 * 256 + 3 * 256 * 512 + 512
    assert memory.parameters == 2 * (TINY.num_parameters // 4 + 2 * layer)


@pytest.mark.parametrize(("tp", "sequence_parallel"), [(1, False), (8, False), (8, True)])
def test_activations_of_gpt3_as_in_the_paper(tp: int, sequence_parallel: bool) -> None:
    # arXiv:2205.05198: s b h (10 + 24/t + 5as/ht) a layer, with sequence parallelism s b h (34 + 5as/h) / t; without
    # the scores those terms go; all of it recomputed: 2 s b h. Stage 0 of 8 keeps 8 micro-batches of 12 layers.
    card = MODELS["gpt3-175b"]
    plan = ParallelPlan(
        tp=tp, pp=8, sequence_parallel=sequence_parallel, global_batch=16, attention=AttentionKernel.UNFUSED
    )
    s, h, a = 2048, 12288, 96
    rest = s * h * 34 // tp if sequence_parallel else s * h * 10 + s * h * 24 // tp
    scores = 5 * a * s * s // tp
    kept = {
        Recomputation.NONE: rest + scores,
        Recomputation.SELECTIVE: rest,
        Recomputation.FULL: 2 * s * h // (tp if sequence_parallel else 1),
    }
    for recomputation, size in kept.items():
        assert memory_of(card, replace(plan, recomputation=recomputation), 0).activations == 8 * 12 * size


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "stages", "chunks", "none_gib", "selective_gib"),
    [
        (96, 12288, 96, 8, 3, 66.84375, 12.3515625),  # 175B
        (105, 20480, 128, 35, 3, 114.0234375, 23.076171875),  # 530B
        (128, 25600, 160, 64, 1, 131.25, 26.5625),  # 1T
    ],
)
def test_activations_of_published_plans(
    layers: int, hidden: int, heads: int, stages: int, chunks: int, none_gib: float, selective_gib: float
) -> None:
    # arXiv:2205.05198, figure 1: what 1F1B and interleaving keep on the first stage, with tp 8.
    card = replace(
        MODELS["gpt3-175b"], layers=layers, hidden=hidden, heads=heads, key_value_heads=heads,
        head_dim=hidden // heads, ffn=4 * hidden, vocabulary=51200,
    )  # fmt: skip
    schedule = PipelineSchedule.INTERLEAVED if chunks > 1 else PipelineSchedule.ONE_F_ONE_B
    plan = ParallelPlan(
        tp=8, pp=stages, schedule=schedule, chunks=chunks, global_batch=8 * stages, attention=AttentionKernel.UNFUSED
    )
    none = memory_of(card, replace(plan, recomputation=Recomputation.NONE), 0)
    selective = memory_of(card, replace(plan, sequence_parallel=True), 0)
    assert (none.activations / 2**30, selective.activations / 2**30) == (none_gib, selective_gib)


def test_zb_h1_keeps_as_much_on_every_stage_as_1f1b_on_the_first() -> None:
    plan = ParallelPlan(pp=4, global_batch=8)
    first = memory_of(TINY, plan, 0).activations
    zero_bubble = replace(plan, schedule=PipelineSchedule.ZB_H1)
    assert [memory_of(TINY, zero_bubble, stage).activations for stage in range(3)] == [first] * 3
    assert memory_of(TINY, plan, 2).activations == first // 2


def test_flash_attention_keeps_no_scores() -> None:
    # Of a layer and token: the inputs of both norms and what they make, 4 x 2 h; queries, keys, values and the output
    # of attention, 2 (2 x 256 + 2 x 128); a statistic of 4 bytes a head; 3 x 2 ffn between the matrices.
    memory = memory_of(TINY, ParallelPlan(global_batch=1, recomputation=Recomputation.NONE), 0)
    logits = 128 * (4 * 1000 + 2 * 2 * 256)
    layer = 128 * (8 * 256 + 2 * (2 * 256 + 2 * 128) + 4 * 8 + 2 * 3 * 512)
    assert memory.activations == 8 * layer + logits
