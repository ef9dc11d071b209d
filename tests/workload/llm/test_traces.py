"""Traces of training steps: they fit together, run, and hold the operations and bytes that the formulas say."""

from collections import Counter
from dataclasses import replace

import pytest
from llm_models import EXPERTS, TIED, TINY, communicated

from hocket.chakra import CollectiveType, NodeType, TraceSet
from hocket.chakra.validate import validate
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import (
    MODELS,
    AttentionKernel,
    ContextMethod,
    ModelCard,
    ParallelPlan,
    PipelineSchedule,
    Recomputation,
    llm_traces,
)

ONE, ZB, MANY = PipelineSchedule.ONE_F_ONE_B, PipelineSchedule.ZB_H1, PipelineSchedule.INTERLEAVED
DUAL, DUAL_V = PipelineSchedule.DUALPIPE, PipelineSchedule.DUALPIPE_V
H100 = ACCELERATORS["h100"]
TOKENS = 128  # TINY's sequence
HIDDEN = 2 * 256  # bytes of a token's hidden state in BF16


def computed(traces: TraceSet) -> int:
    return sum(int(trace.num_ops[trace.type == NodeType.COMP].sum()) for trace in traces.traces)


GRID = [
    (
        card,
        replace(
            plan, schedule=schedule, chunks=2 if schedule is MANY else 1, zero=zero, global_batch=2 * plan.pp * plan.dp
        ),
    )
    for card, plan in (
        (TINY, ParallelPlan(tp=2, pp=2, dp=2)),
        (TIED, ParallelPlan(tp=2, pp=4, dp=2, sequence_parallel=True)),
        (TINY, ParallelPlan(pp=2, dp=2, cp=4)),
        (TINY, ParallelPlan(tp=2, pp=2, cp=3, context=ContextMethod.ALL_GATHER, sequence_parallel=True)),
        (TINY, ParallelPlan(pp=2, cp=4, context=ContextMethod.HIERARCHICAL, context_inner=2)),
        (EXPERTS, ParallelPlan(pp=2, dp=4, ep=4, recomputation=Recomputation.FULL)),
        (EXPERTS, ParallelPlan(tp=2, pp=2, dp=2, cp=2, ep=2, sequence_parallel=True)),
    )
    for schedule in PipelineSchedule
    for zero in range(2 if schedule in (DUAL, DUAL_V) else 4)
]


@pytest.mark.parametrize(("card", "plan"), GRID)
def test_steps_are_valid_and_run_to_their_end(card: ModelCard, plan: ParallelPlan) -> None:
    card = replace(card, sequence=96)  # 3 context parallel ranks divide it
    traces = llm_traces(card, plan, H100)
    assert validate(traces) == []
    prediction = simulate_traces(traces, load(f"switch:{plan.num_ranks},bandwidth=50GB/s,latency=500ns"))
    busy_ns = [int(trace.duration_ns[trace.type == NodeType.COMP].sum()) for trace in traces.traces]
    assert prediction.compute_ps.tolist() == [1000 * time for time in busy_ns]
    assert prediction.time_ps > 1000 * max(busy_ns)


@pytest.mark.parametrize(
    "plan",
    [
        ParallelPlan(global_batch=2),
        ParallelPlan(tp=4, pp=2, dp=2, sequence_parallel=True, global_batch=8),
        ParallelPlan(tp=2, pp=2, cp=4, schedule=MANY, chunks=2, global_batch=4),
        ParallelPlan(pp=4, dp=2, schedule=ZB, zero=3, global_batch=8, micro_batch=2),
        ParallelPlan(cp=2, context=ContextMethod.ALL_GATHER, global_batch=2),
        ParallelPlan(cp=4, context=ContextMethod.ULYSSES, global_batch=2),
        ParallelPlan(tp=2, cp=4, context=ContextMethod.HIERARCHICAL, context_inner=2, global_batch=2),
    ],
)
@pytest.mark.parametrize("recomputation", list(Recomputation))
def test_operations_of_all_ranks(plan: ParallelPlan, recomputation: Recomputation) -> None:
    plan = replace(plan, recomputation=recomputation, attention=AttentionKernel.UNFUSED)
    tokens = plan.global_batch * TOKENS
    # Three forward passes' worth; recomputation adds the scores, or all layers but not the output layer.
    expected = 3 * TINY.forward_flops(tokens)
    if recomputation is Recomputation.SELECTIVE:
        expected += tokens * TINY.layers * TINY.score_flops() // TINY.sequence
    elif recomputation is Recomputation.FULL:
        expected += TINY.forward_flops(tokens) - 2 * tokens * 256 * 1000
    assert computed(llm_traces(TINY, plan, H100)) == expected


@pytest.mark.parametrize("recomputation", [Recomputation.NONE, Recomputation.SELECTIVE])
def test_flash_attention_computes_what_the_mask_leaves(recomputation: Recomputation) -> None:
    """Two products forward and five backward (arXiv:2307.08691), each of n (n + 1) / 2 pairs of tokens."""
    plan = ParallelPlan(tp=2, pp=2, dp=2, global_batch=4, recomputation=recomputation)
    pairs = TINY.sequence * (TINY.sequence + 1) // 2
    dense = replace(TINY, sequence=1).forward_flops(TINY.sequence) - TINY.layers * TINY.sequence * 4 * 256
    attention = (2 + 5) * 2 * pairs * TINY.heads * TINY.head_dim * TINY.layers
    assert computed(llm_traces(TINY, plan, H100)) == 4 * (3 * dense + attention)


def test_operations_of_experts() -> None:
    plan = ParallelPlan(dp=4, ep=4, global_batch=8, recomputation=Recomputation.NONE, attention=AttentionKernel.UNFUSED)
    assert computed(llm_traces(EXPERTS, plan, H100)) == 3 * EXPERTS.forward_flops(8 * TOKENS)


def test_megatron_formula_of_a_whole_step() -> None:
    # arXiv:2104.04473 equation 3 with full recomputation: 96 B s l h^2 (1 + s/6h + V/16lh), here of GPT-3's first two
    # layers; 3 of 4 passes for the output layer are in it. tp pads the vocabulary of 50257 to 50264, 8 * 6283.
    card = replace(MODELS["gpt3-175b"], layers=2)
    plan = ParallelPlan(tp=8, pp=2, global_batch=2, recomputation=Recomputation.FULL, attention=AttentionKernel.UNFUSED)
    b, s, h, n, v = 2, 2048, 12288, 2, 50264
    assert computed(llm_traces(card, plan, H100)) == 96 * b * s * n * h * h + 16 * b * s * s * n * h + 6 * b * s * h * v


def test_gradients_of_plain_data_parallelism() -> None:
    plan = ParallelPlan(dp=4, global_batch=8, bucket_bytes=1)
    traces = llm_traces(TINY, plan, H100)
    # A bucket a layer, 4 bytes a parameter, reduced for the last micro-batch only: embedding 1000 * 256; output the
    # same and a norm of 256; a layer 256 * (256 + 2 * 128) + 256 * 256 + 3 * 256 * 512 + 2 * 256.
    layer = 256 * 512 + 256 * 256 + 3 * 256 * 512 + 512
    expected = Counter({4 * 256_000: 1, 4 * 256_256: 1, 4 * layer: 8})
    assert communicated(traces, 3, CollectiveType.ALL_REDUCE, "dp") == expected
    assert 256_000 + 256_256 + 8 * layer == TINY.num_parameters


def test_buckets_hold_whole_layers_until_they_are_full() -> None:
    layer = 256 * 512 + 256 * 256 + 3 * 256 * 512 + 512
    plan = ParallelPlan(dp=4, global_batch=4, bucket_bytes=4 * 3 * layer, gradient_bytes=4)
    sizes = communicated(llm_traces(TINY, plan, H100), 0, CollectiveType.ALL_REDUCE, "dp")
    # Backward: the output and 3 layers fill one bucket, 3 layers the next; 2 layers and the embedding are left.
    assert sizes == Counter({4 * (256_256 + 3 * layer): 1, 4 * 3 * layer: 1, 4 * (2 * layer + 256_000): 1})


@pytest.mark.parametrize(("zero", "reductions"), [(1, 1), (2, 2)])
def test_zero_1_and_2_scatter_gradients_and_gather_parameters(zero: int, reductions: int) -> None:
    plan = ParallelPlan(dp=3, global_batch=6, zero=zero, bucket_bytes=1 << 40)
    traces = llm_traces(TINY, plan, H100)
    shard = -(-TINY.num_parameters // 3)  # padded to a multiple of 3
    # One bucket: 4 bytes a gradient at each of `reductions` micro-batches; then, once, a shard of 2 bytes a parameter.
    assert communicated(traces, 0, CollectiveType.REDUCE_SCATTER, "dp") == Counter({4 * 3 * shard: reductions})
    assert communicated(traces, 0, CollectiveType.ALL_GATHER, "dp") == Counter({2 * shard: 1})
    assert not communicated(traces, 0, CollectiveType.ALL_REDUCE, "dp")


def test_fsdp_gathers_every_part_forward_and_backward() -> None:
    plan = ParallelPlan(dp=4, global_batch=8, zero=3)
    traces = llm_traces(TINY, plan, H100)
    layer = 256 * 512 + 256 * 256 + 3 * 256 * 512 + 512
    # 2 micro-batches, forward and backward: 4 gathers of a quarter of each part; 2 reductions.
    gathers = Counter({2 * 64_000: 4, 2 * 64_064: 4, 2 * layer // 4: 4 * 8})
    assert communicated(traces, 0, CollectiveType.ALL_GATHER, "dp") == gathers
    reductions = Counter({4 * 256_000: 2, 4 * 256_256: 2, 4 * layer: 2 * 8})
    assert communicated(traces, 0, CollectiveType.REDUCE_SCATTER, "dp") == reductions


def test_fsdp_gathers_one_part_ahead() -> None:
    """A layer's gather starts before the layer before it computes."""
    trace = llm_traces(TINY, ParallelPlan(dp=4, global_batch=4, zero=3), H100).traces[0]
    names = [trace.strings[name] for name in trace.name]
    gather, before = names.index("layer 5 gather parameters"), names.index("forward 0 layer 4 attention")
    deps = trace.data_deps[trace.data_offset[gather] : trace.data_offset[gather + 1]]
    assert [names[dep] for dep in deps] == ["forward 0 layer 3 feed-forward"]
    assert gather < before


def test_tensor_parallel_sums() -> None:
    traces = llm_traces(TINY, ParallelPlan(tp=4, global_batch=1), H100)
    # arXiv:1909.08053: 2 all_reduces of all tokens' hidden state in a layer forward, 2 backward; the embedding's output
    # and the gradient of the output layer's input; the loss: 3 of 4 bytes per token.
    expected = Counter({TOKENS * HIDDEN: 4 * 8 + 2, 4 * TOKENS: 3})
    assert communicated(traces, 0, CollectiveType.ALL_REDUCE, "tp") == expected


def test_sequence_parallel_gathers_and_scatters() -> None:
    traces = llm_traces(TINY, ParallelPlan(tp=4, sequence_parallel=True, global_batch=1), H100)
    # arXiv:2205.05198: a reduce_scatter takes the place of each all_reduce; all_gathers of a rank's quarter of the
    # tokens: 2 in a layer forward; backward 2 of gradients and 2 of the inputs that were kept in parts; the output
    # layer's input twice; the embedding's gradient.
    assert communicated(traces, 0, CollectiveType.REDUCE_SCATTER, "tp") == Counter({TOKENS * HIDDEN: 4 * 8 + 2})
    assert communicated(traces, 0, CollectiveType.ALL_GATHER, "tp") == Counter({TOKENS * HIDDEN // 4: 6 * 8 + 3})
    # Norms are whole on every rank: their gradients, 2 of 256 in a layer and the last, are summed at the end.
    assert communicated(traces, 0, CollectiveType.ALL_REDUCE, "tp")[4 * 17 * 256] == 1


@pytest.mark.parametrize(
    ("gather", "computed_meanwhile"),
    [
        ("backward 0 layer 3 feed-forward input again gather", "backward 0 layer 3 feed-forward input gradient"),
        ("backward 0 layer 3 attention input again gather", "backward 0 layer 3 attention input gradient"),
        ("backward 0 output input again gather", "backward 0 output input gradient"),
    ],
)
def test_inputs_are_gathered_again_while_their_gradient_is_computed(gather: str, computed_meanwhile: str) -> None:
    """As Megatron-LM's LinearWithGradAccumulationAndAsyncCommunication: only the weights' gradient waits for it."""
    trace = llm_traces(TINY, ParallelPlan(tp=4, sequence_parallel=True, global_batch=1), H100).traces[0]
    names = [trace.strings[name] for name in trace.name]

    def before(name: str) -> set[str]:
        row = names.index(name)
        return {names[dep] for dep in trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]}

    assert before(gather) == before(computed_meanwhile)
    weights = computed_meanwhile.replace("input gradient", "weight gradient")
    assert before(weights) == {gather, computed_meanwhile}


def test_ring_attention_sends_keys_values_and_their_gradients() -> None:
    trace = llm_traces(TINY, ParallelPlan(cp=4, global_batch=1), H100).traces[0]
    sent = trace.comm_bytes[trace.type == NodeType.COMM_SEND]
    # 32 tokens' keys and values of 4 heads of 32 in BF16: 3 times forward, 3 times backward, gradients 4 times.
    assert Counter(sent.tolist()) == Counter({2 * 32 * 2 * 4 * 32: 8 * (3 + 3 + 4)})
    assert set(trace.comm_dst[trace.type == NodeType.COMM_SEND].tolist()) == {1}
    assert set(trace.comm_src[trace.type == NodeType.COMM_RECV].tolist()) == {3}


def test_ulysses_exchanges_tokens_for_heads() -> None:
    plan = ParallelPlan(cp=4, context=ContextMethod.ULYSSES, global_batch=1)
    traces = llm_traces(TINY, plan, H100)
    # arXiv:2309.14509: 32 tokens' queries of 8 heads of 32 and keys and values of 4, in BF16; the result of 8 heads
    # back; backward the same again.
    expected = Counter({2 * 32 * 32 * (8 + 2 * 4): 8 * 2, 2 * 32 * 32 * 8: 8 * 2})
    assert communicated(traces, 0, CollectiveType.ALL_TO_ALL, "cp_heads") == expected
    assert not (traces.traces[0].type == NodeType.COMM_SEND).any()


def test_hierarchical_context_exchanges_heads_with_neighbours_and_rings_over_them() -> None:
    plan = ParallelPlan(cp=4, context=ContextMethod.HIERARCHICAL, context_inner=2, global_batch=1)
    traces = llm_traces(TINY, plan, H100)
    expected = Counter({2 * 32 * 32 * (8 + 2 * 4): 8 * 2, 2 * 32 * 32 * 8: 8 * 2})
    assert communicated(traces, 0, CollectiveType.ALL_TO_ALL, "cp_heads") == expected
    assert traces.groups["cp_heads.1"] == (2, 3)
    trace = traces.traces[0]
    sends = trace.type == NodeType.COMM_SEND
    # 64 tokens' keys and values of 2 heads: a ring of 2, once forward, once backward, gradients twice.
    assert Counter(trace.comm_bytes[sends].tolist()) == Counter({2 * 64 * 2 * 2 * 32: 8 * (1 + 1 + 2)})
    assert set(trace.comm_dst[sends].tolist()) == {2}


def test_tokens_go_to_their_experts_and_back() -> None:
    traces = llm_traces(EXPERTS, ParallelPlan(dp=4, ep=4, global_batch=4), H100)
    # 7 layers with experts; each token's hidden state goes to 2 experts and back, and so do the gradients.
    assert communicated(traces, 0, CollectiveType.ALL_TO_ALL, "ep") == Counter({2 * TOKENS * HIDDEN: 7 * 4})


def test_pipeline_messages() -> None:
    plan = ParallelPlan(tp=2, sequence_parallel=True, pp=4, global_batch=4)
    trace = llm_traces(TINY, plan, H100).traces[2]  # tp 0 of stage 1
    sends = trace.type == NodeType.COMM_SEND
    # Half of the tokens' hidden states, to the next stage (rank 4) and their gradients to the one before (rank 0).
    assert Counter(trace.comm_bytes[sends].tolist()) == Counter({TOKENS * HIDDEN // 2: 8})
    assert Counter(trace.comm_dst[sends].tolist()) == Counter({4: 4, 0: 4})
    assert len(set(trace.comm_tag[sends].tolist())) == 8


def test_tied_embeddings_are_summed_over_both_ends() -> None:
    traces = llm_traces(TIED, ParallelPlan(pp=4, global_batch=4), H100)
    for rank, count in ((0, 1), (1, 0), (3, 1)):
        found = communicated(traces, rank, CollectiveType.ALL_REDUCE, "embedding")
        assert found == (Counter({4 * 1000 * 256: 1}) if count else Counter())


@pytest.mark.parametrize(("zero", "copies"), [(0, 1), (1, 1), (2, 2), (3, 2)])
def test_sums_after_the_reduction_are_of_the_gradients_that_a_rank_keeps(zero: int, copies: int) -> None:
    plan = ParallelPlan(tp=2, sequence_parallel=True, pp=4, dp=2, zero=zero, global_batch=8)
    traces = llm_traces(TIED, plan, H100)
    # A tensor parallel rank has half of the embedding; ZeRO 2 and 3 leave half of its gradients on each of 2 replicas.
    assert communicated(traces, 0, CollectiveType.ALL_REDUCE, "embedding") == Counter({4 * 500 * 256 // copies: 1})
    trace = traces.traces[0]
    names = [trace.strings[name] for name in trace.name]
    row = names.index("sum of replicated gradients")
    deps = trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
    assert any("reduce gradients" in names[dep] for dep in deps)


def test_groups_follow_the_order_of_the_ranks() -> None:
    plan = ParallelPlan(tp=2, pp=2, dp=2, cp=2, ep=2, sequence_parallel=True, global_batch=4)
    groups = llm_traces(EXPERTS, plan, H100).groups
    # Megatron's order: rank = tp + 2 cp + 4 dp + 8 pp.
    assert groups["tp.0"] == (0, 1)
    assert groups["cp.1"] == (1, 3)
    assert groups["dp.0"] == (0, 2, 4, 6)  # all copies: dp * cp
    assert groups["ep.0"] == (0, 2)
    assert groups["expert_dp.0"] == (0, 4)
    assert groups["pp.3"] == (3, 11)
    other = llm_traces(EXPERTS, replace(plan, order=("pp", "dp", "cp", "tp")), H100).groups
    # rank = pp + 2 dp + 4 cp + 8 tp.
    assert other["tp.0"] == (0, 8)
    assert other["pp.0"] == (0, 1)


def test_ranks_of_a_stage_share_their_columns() -> None:
    traces = llm_traces(TINY, ParallelPlan(tp=2, pp=2, dp=4, global_batch=8), H100)
    assert traces.traces[0].comm_bytes is traces.traces[7].comm_bytes
    assert traces.traces[0].comm_bytes is not traces.traces[8].comm_bytes
