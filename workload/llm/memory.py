"""An estimate of the memory that a rank needs."""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket.base.enums import assert_never
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.parameters import ParameterCount, layer_parameters, stage_parameters
from hocket.workload.llm.passes import PassKind
from hocket.workload.llm.pipeline import stage_tasks
from hocket.workload.llm.plan import ACTIVATION_BYTES, PARAMETER_BYTES, AttentionKernel, ParallelPlan, Recomputation

__all__ = ["MemoryEstimate", "memory_of"]

_OPTIMIZER_BYTES = 12  # Adam in FP32: the parameter and two moments


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on a rank of one stage."""

    parameters: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.activations


def memory_of(card: ModelCard, plan: ParallelPlan, stage: int) -> MemoryEstimate:
    """What a rank of this stage keeps at most; buffers of communication and fragmentation come on top.

    ZeRO's stages divide the optimizer's state, the gradients and the parameters (arXiv:1910.02054, figure 1); with
    stage 3 those that are gathered ahead and one more are whole, taken to be the largest. Activations are those of
    arXiv:2205.05198, equations 1 to 6, with this model's sizes, for the most micro-batches that the schedule has in
    flight; with FlashAttention no scores are kept.
    """
    held = stage_parameters(card, plan, stage)
    whole = held.dense + held.experts
    shard = _shard(held, plan)
    gathered = max((_whole(layer_parameters(card, plan, layer)) for layer in _layers(card, plan, stage)), default=0)
    divided = plan.zero == 3 and not plan.keep_gathered
    return MemoryEstimate(
        parameters=PARAMETER_BYTES * (shard + (1 + plan.prefetch) * gathered if divided else whole),
        gradients=plan.gradient_bytes * (shard if plan.zero >= 2 else whole),
        optimizer=_OPTIMIZER_BYTES * (shard if plan.zero >= 1 else whole),
        activations=_activations(card, plan, stage),
    )


def _layers(card: ModelCard, plan: ParallelPlan, stage: int) -> Iterator[int]:
    for chunk in range(plan.chunks):
        yield from plan.layers_of(card, stage, chunk)


def _whole(parameters: ParameterCount) -> int:
    return parameters.dense + parameters.experts


def _shard(parameters: ParameterCount, plan: ParallelPlan) -> int:
    return -(-parameters.dense // plan.shards) + -(-parameters.experts * plan.ep // plan.shards)


def _activations(card: ModelCard, plan: ParallelPlan, stage: int) -> int:
    """The most that is kept between forward passes and the passes that use it up."""
    size = [_chunk_bytes(card, plan, stage, chunk) for chunk in range(plan.chunks)]
    kept = peak = 0
    for task in stage_tasks(plan.schedule, stage, plan.pp, plan.chunks, plan.micro_batches):
        match task.kind:
            case PassKind.FORWARD:
                kept += size[task.chunk]
                peak = max(peak, kept)
            case PassKind.BACKWARD | PassKind.WEIGHT_GRADIENT:
                kept -= size[task.chunk]
            case PassKind.INPUT_GRADIENT:
                pass
            case _:
                assert_never(task.kind)
    return peak


def _chunk_bytes(card: ModelCard, plan: ParallelPlan, stage: int, chunk: int) -> int:
    """What a micro-batch's forward pass through a chunk leaves to be kept."""
    total = sum(_layer_bytes(card, plan, layer) for layer in plan.layers_of(card, stage, chunk))
    if plan.has_output(stage, chunk):
        logits = 4 * plan.tokens(card) * card.output.on_rank(plan.tp).outputs
        total += logits + 2 * ACTIVATION_BYTES * plan.sharded_tokens(card) * card.hidden
    return total


def _layer_bytes(card: ModelCard, plan: ParallelPlan, layer: int) -> int:
    """Inputs of norms and matrices. FlashAttention keeps a statistic in FP32 for each head and token; unfused attention
    the scores, 5 bytes each, unless recomputed, and its models have dropout, masks of a byte (equation 1)."""
    flash = plan.attention is AttentionKernel.FLASH
    match plan.recomputation:
        case Recomputation.FULL:
            return ACTIVATION_BYTES * plan.sharded_tokens(card) * card.hidden
        case Recomputation.SELECTIVE:
            split = 4 * card.heads if flash else 0
        case Recomputation.NONE:
            split = 4 * card.heads if flash else 5 * card.heads * card.sequence
        case _:
            assert_never(plan.recomputation)
    heads = card.heads if card.latent else card.key_value_heads
    inside = card.heads * (card.key_dim + card.value_dim) + heads * (card.key_dim + card.value_dim)
    if card.experts and card.has_experts(layer):
        met = card.experts.top_k + card.experts.shared
        inside += met * _feed_forward(card, card.experts.ffn) + card.experts.top_k * card.hidden * plan.tp
    else:
        inside += _feed_forward(card, card.ffn)
    split += ACTIVATION_BYTES * inside
    return plan.sharded_tokens(card) * (8 if flash else 10) * card.hidden + plan.tokens(card) * split // plan.tp


def _feed_forward(card: ModelCard, ffn: int) -> int:
    """Elements between a feed-forward's matrices: before and after the activation function."""
    return (3 if card.gated else 2) * ffn
