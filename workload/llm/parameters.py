"""How many parameters a rank holds."""

from dataclasses import dataclass

from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.linear import Linear, MatrixSplit
from hocket.workload.llm.plan import ParallelPlan

__all__ = ["ParameterCount", "embedding_parameters", "layer_parameters", "output_parameters", "stage_parameters"]


@dataclass(frozen=True)
class ParameterCount:
    """Parameters on one rank: `dense` ones have copies on dp * cp ranks, those of `experts` on dp * cp / ep.

    Of the dense ones `replicated` are whole on every tensor parallel rank, too: norms, routers, biases of outputs.
    """

    dense: int = 0
    experts: int = 0
    replicated: int = 0

    def __add__(self, other: "ParameterCount") -> "ParameterCount":
        return ParameterCount(
            self.dense + other.dense, self.experts + other.experts, self.replicated + other.replicated
        )  # fmt: skip


def layer_parameters(card: ModelCard, plan: ParallelPlan, layer: int) -> ParameterCount:
    """One rank's part of a layer."""
    norms = card.attention_norms + card.norm
    total = ParameterCount(norms, 0, norms)
    linears = list(card.attention)
    if card.experts and card.has_experts(layer):
        linears.append(card.router)
        linears += card.feed_forward(card.experts.ffn) * card.experts.shared
        expert = sum(_part(linear, plan).dense for linear in card.expert)
        total += ParameterCount(experts=expert * card.experts.count // plan.ep)
    else:
        linears += card.feed_forward(card.ffn)
    for linear in linears:
        total += _part(linear, plan)
    return total


def embedding_parameters(card: ModelCard, plan: ParallelPlan) -> ParameterCount:
    """One rank's part of the input embedding."""
    positions = card.positions * card.hidden
    return _part(card.output, plan) + ParameterCount(positions, 0, positions)


def output_parameters(card: ModelCard, plan: ParallelPlan) -> ParameterCount:
    """One rank's part of the last norm and the output layer, which one stage alone shares with the embedding."""
    norm = ParameterCount(card.norm, 0, card.norm)
    return norm if card.tied_embeddings and plan.shares_ends else norm + _part(card.output, plan)


def stage_parameters(card: ModelCard, plan: ParallelPlan, stage: int) -> ParameterCount:
    """All that a rank of a pipeline stage holds."""
    total = ParameterCount()
    for chunk in range(plan.chunks):
        if plan.has_embedding(stage, chunk):
            total += embedding_parameters(card, plan)
        for layer in plan.layers_of(card, stage, chunk):
            total += layer_parameters(card, plan, layer)
        if plan.has_output(stage, chunk):
            total += output_parameters(card, plan)
    return total


def _part(linear: Linear, plan: ParallelPlan) -> ParameterCount:
    part = linear.on_rank(plan.tp)
    if linear.split is MatrixSplit.NONE:
        return ParameterCount(part.parameters, 0, part.parameters)
    return ParameterCount(part.parameters, 0, part.outputs if part.bias and linear.split is MatrixSplit.INPUTS else 0)
