"""How much work each part of a rank's share of the model is: operations, bytes moved, time."""

from dataclasses import dataclass

from hocket.workload.accelerators import Accelerator, Precision
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.linear import Linear, MatrixSplit
from hocket.workload.llm.plan import (
    ACTIVATION_BYTES,
    PARAMETER_BYTES,
    AttentionKernel,
    ParallelPlan,
    Recomputation,
)

__all__ = ["KernelWork", "PassWork", "Workbook"]

_OPTIMIZER_BYTES = 26  # Adam in FP32: reads weight and two moments, writes them and the BF16 weight
# FlashAttention multiplies five times backward where it does twice forward (arXiv:2307.08691, section 3.1).
_FLASH_BACKWARD = (5, 2)
_SCORE_BYTES = 10  # unfused, a score: written, scaled and masked, normalized, dropped out, read by the product
# Bytes that are read and written for one element to become a multiplication's operand, along both of its sides: the
# scales of FP8_CURRENT need one reading more, NVFP4's transform another.
_CAST_BYTES = {
    Precision.FP8: 4,
    Precision.FP8_CURRENT: 6,
    Precision.FP8_BLOCK: 4,
    Precision.MXFP8: 4,
    Precision.NVFP4: 5,
}


@dataclass(frozen=True)
class KernelWork:
    """What kernels do, one after the other."""

    num_ops: int = 0
    num_bytes: int = 0
    time_ps: int = 0

    def __add__(self, other: "KernelWork") -> "KernelWork":
        return KernelWork(self.num_ops + other.num_ops, self.num_bytes + other.num_bytes, self.time_ps + other.time_ps)


@dataclass(frozen=True)
class PassWork:
    """The work of a part of a layer in each pass."""

    forward: KernelWork
    input_gradient: KernelWork
    weight_gradient: KernelWork = KernelWork()

    def __add__(self, other: "PassWork") -> "PassWork":
        return PassWork(
            self.forward + other.forward,
            self.input_gradient + other.input_gradient,
            self.weight_gradient + other.weight_gradient,
        )


class Workbook:
    """The work of one rank for one micro-batch.

    Three kinds of kernels: matrix multiplications, priced by their shapes, forward and for either gradient; the
    attention's core; and element-wise ones (bytes only; twice in the backward pass). The router and the output layer
    stay at 16 bits whatever the plan's precision, and so does attention.
    """

    def __init__(self, card: ModelCard, plan: ParallelPlan, accelerator: Accelerator) -> None:
        self._card = card
        self._plan = plan
        self._accelerator = accelerator
        self._tokens = plan.tokens(card)
        self._sharded = plan.sharded_tokens(card)

    @property
    def priced_by(self) -> dict[str, object]:
        """What the times are of, as traces say it in their metadata."""
        return {"accelerator": self._accelerator.spec, "precision": str(self._plan.precision)}

    def attention_input(self) -> PassWork:
        """Norm, queries, keys and values."""
        *inputs, _ = self._card.attention
        return self._sum(self._norm(), *(self._linear(linear) for linear in inputs))

    def attention_core(self, windowed: bool = False, parts: int = 1) -> PassWork:
        """Scores, softmax and the product with the values; one of `parts` equal parts of the keys and values."""
        plan = self._plan
        if plan.attention is AttentionKernel.UNFUSED:
            return self._unfused_attention(windowed, parts)
        share = plan.cp * plan.tp * parts
        num_ops = self._card.score_flops(windowed, causal=True) * plan.micro_batch // share
        keys = self._card.attended(windowed, causal=True) // self._card.sequence // parts
        moved = self._attention_bytes()
        more, less = _FLASH_BACKWARD
        return PassWork(
            self._attention(num_ops, moved, keys, backward=False),
            self._attention(num_ops * more // less, 2 * moved, keys, backward=True),
        )

    def _unfused_attention(self, windowed: bool, parts: int) -> PassWork:
        plan, card = self._plan, self._card
        share = plan.cp * plan.tp * parts
        pairs = card.attended(windowed) * plan.micro_batch * card.heads // share
        num_ops = 2 * pairs * (card.key_dim + card.value_dim)
        forward = self._kernel(num_ops, self._attention_bytes() + _SCORE_BYTES * pairs)
        again = plan.recomputation is Recomputation.SELECTIVE
        return PassWork(forward, forward + forward + forward if again else forward + forward)

    def _attention(self, num_ops: int, moved: int, keys: int, backward: bool) -> KernelWork:
        time_ps = self._accelerator.attention_ps(num_ops, moved, keys, self._card.value_dim, backward)
        return KernelWork(num_ops, moved, time_ps)

    def _attention_bytes(self) -> int:
        """Queries and output, keys and values."""
        card = self._card
        queries = self._tokens * card.heads * (card.key_dim + card.value_dim) // self._plan.tp
        return ACTIVATION_BYTES * (queries + self.key_values)

    def attention_output(self) -> PassWork:
        """The output projection and the residual."""
        return self._linear(self._card.attention[-1]) + self._residual()

    @property
    def key_values(self) -> int:
        """Elements of the keys and values of this rank's tokens and heads."""
        card = self._card
        heads = card.heads if card.latent else card.key_value_heads
        return self._tokens * heads * (card.key_dim + card.value_dim) // self._plan.tp

    @property
    def queries(self) -> int:
        """Elements of the queries of this rank's tokens and heads."""
        return self._tokens * self._card.heads * self._card.key_dim // self._plan.tp

    @property
    def results(self) -> int:
        """Elements of what the attention gives for them."""
        return self._tokens * self._card.heads * self._card.value_dim // self._plan.tp

    def feed_forward(self) -> PassWork:
        """A dense layer's feed-forward with norm and residual."""
        return self._norm() + self._mlp(self._card.ffn, self._tokens, 1) + self._residual()

    def router(self) -> PassWork:
        """Norm, the choice of experts, and the residual."""
        return self._norm() + self._linear(self._card.router, narrow=False) + self._residual()

    def experts(self, tokens: int | None = None) -> PassWork:
        """This rank's experts, on so many tokens, a token for each of its experts; else on those that come to it when
        all experts are chosen equally often."""
        experts = self._card.experts
        assert experts
        tokens = self._tokens * experts.top_k if tokens is None else tokens
        # Tokens are gathered into the order of their experts, and scattered back with their weights.
        permuted = self._forward_and_backward(4 * tokens * self._card.hidden)
        return permuted + self._mlp(experts.ffn, tokens, experts.count // self._plan.ep)

    def shared_experts(self) -> PassWork:
        """The experts that every token meets."""
        experts = self._card.experts
        assert experts
        if not experts.shared:
            return PassWork(KernelWork(), KernelWork())
        return self._mlp(experts.ffn * experts.shared, self._tokens, 1)

    def embedding(self) -> PassWork:
        """The look-up of the input embeddings; backward it only adds to the rows' gradients."""
        lookup = self._elementwise(2 * self._tokens * self._card.hidden)
        return PassWork(lookup, KernelWork(), lookup)

    def output(self) -> PassWork:
        """Last norm, logits and loss; the logits are in FP32 and are read and written once."""
        outputs = self._card.output.on_rank(self._plan.tp).outputs
        loss = self._bytes(2 * 4 * self._tokens * outputs)
        return self._norm() + self._linear(self._card.output, narrow=False) + PassWork(loss, loss)

    def optimizer(self, parameters: int) -> KernelWork:
        """Adam's update of this many parameters."""
        return self._bytes(parameters * (_OPTIMIZER_BYTES + self._plan.gradient_bytes))

    def _mlp(self, ffn: int, tokens: int, copies: int) -> PassWork:
        """Matrices of a feed-forward and what is between them; `copies` share the tokens equally."""
        matrices = (self._linear(linear, tokens, copies) for linear in self._card.feed_forward(ffn))
        return self._sum(
            *matrices, self._forward_and_backward((3 if self._card.gated else 2) * tokens * ffn // self._plan.tp)
        )

    def _linear(self, linear: Linear, tokens: int | None = None, copies: int = 1, narrow: bool = True) -> PassWork:
        """A matrix on `tokens` rows in all; `copies` of it share them equally, in one kernel."""
        if tokens is None:
            tokens = self._sharded if linear.split is MatrixSplit.NONE else self._tokens
        part = linear.on_rank(self._plan.tp)
        precision = self._plan.precision if narrow else self._accelerator.wide
        moved = ACTIVATION_BYTES * tokens * (part.inputs + part.outputs) + PARAMETER_BYTES * copies * part.weights
        rows, num_ops = max(tokens // copies, 1), 2 * tokens * part.weights
        shapes = (
            (rows, part.outputs, part.inputs),
            (rows, part.inputs, part.outputs),
            (part.inputs, part.outputs, rows),
        )
        forward, inputs, weights = (
            KernelWork(num_ops, moved, self._accelerator.matmul_ps(*shape, moved, precision, copies))
            for shape in shapes
        )
        cast = _CAST_BYTES.get(precision, 0) * tokens
        return PassWork(forward + self._bytes(cast * part.inputs), inputs + self._bytes(cast * part.outputs), weights)

    def _norm(self) -> PassWork:
        return self._forward_and_backward(2 * self._sharded * self._card.hidden)

    def _residual(self) -> PassWork:
        return self._forward_and_backward(3 * self._sharded * self._card.hidden)

    def _forward_and_backward(self, elements: int) -> PassWork:
        work = self._elementwise(elements)
        return PassWork(work, work + work)

    def _elementwise(self, elements: int) -> KernelWork:
        return self._bytes(ACTIVATION_BYTES * elements)

    def _bytes(self, num_bytes: int) -> KernelWork:
        return KernelWork(0, num_bytes, self._accelerator.elementwise_ps(num_bytes))

    def _kernel(self, num_ops: int, num_bytes: int) -> KernelWork:
        time_ps = self._accelerator.time_ps(num_ops, num_bytes, self._accelerator.wide)
        return KernelWork(num_ops, num_bytes, time_ps)

    @staticmethod
    def _sum(first: PassWork, *rest: PassWork) -> PassWork:
        for passes in rest:
            first = first + passes
        return first
