"""How much work each part of a rank's share of the model is: operations, bytes moved, time."""

from dataclasses import dataclass

from hocket.workload.accelerators import Accelerator
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.linear import Linear, MatrixSplit
from hocket.workload.llm.plan import ACTIVATION_BYTES, PARAMETER_BYTES, ParallelPlan, Recomputation

__all__ = ["KernelWork", "PassWork", "Workbook"]

_OPTIMIZER_BYTES = 26  # Adam in FP32: reads weight and two moments, writes them and the BF16 weight


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

    Three kinds of kernels: a matrix multiplication (the same work forward and for either gradient), the attention's
    core (its input gradient is twice the forward pass, and once more where the scores are recomputed), and element-wise
    ones (bytes only; twice in the backward pass).
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

    def attention_core(self, parts: int = 1) -> PassWork:
        """Scores, softmax and the product with the values; one of `parts` equal parts of the keys and values."""
        card, tp = self._card, self._plan.tp
        num_ops = self._tokens * card.score_flops // tp // parts
        queries = self._tokens * card.heads * (card.key_dim + card.value_dim) // tp
        forward = self._kernel(num_ops, ACTIVATION_BYTES * (queries + self.key_values))
        again = self._plan.recomputation is Recomputation.SELECTIVE
        return PassWork(forward, forward + forward + forward if again else forward + forward)

    def attention_output(self) -> PassWork:
        """The output projection and the residual."""
        return self._linear(self._card.attention[-1]) + self._residual()

    @property
    def key_values(self) -> int:
        """Elements of the keys and values of this rank's tokens and heads."""
        card = self._card
        heads = card.heads if card.latent else card.key_value_heads
        return self._tokens * heads * (card.key_dim + card.value_dim) // self._plan.tp

    def feed_forward(self) -> PassWork:
        """A dense layer's feed-forward with norm and residual."""
        return self._norm() + self._mlp(self._card.ffn, self._tokens, 1) + self._residual()

    def router(self) -> PassWork:
        """Norm, the choice of experts, and the residual."""
        return self._norm() + self._linear(self._card.router) + self._residual()

    def experts(self) -> PassWork:
        """This rank's experts, on the tokens that come to it when all experts are chosen equally often."""
        experts = self._card.experts
        assert experts
        return self._mlp(experts.ffn, self._tokens * experts.top_k, experts.count // self._plan.ep)

    def shared_experts(self) -> PassWork:
        """The experts that every token meets."""
        experts = self._card.experts
        assert experts
        return self._mlp(experts.ffn * experts.shared, self._tokens, 1)

    def embedding(self) -> PassWork:
        """The look-up of the input embeddings; backward it only adds to the rows' gradients."""
        lookup = self._elementwise(2 * self._tokens * self._card.hidden)
        return PassWork(lookup, KernelWork(), lookup)

    def output(self) -> PassWork:
        """Last norm, logits and loss; the logits are in FP32 and are read and written once."""
        outputs = self._card.output.on_rank(self._plan.tp).outputs
        loss = self._kernel(0, 2 * 4 * self._tokens * outputs)
        return self._norm() + self._linear(self._card.output) + PassWork(loss, loss)

    def optimizer(self, parameters: int) -> KernelWork:
        """Adam's update of this many parameters."""
        return self._kernel(0, parameters * (_OPTIMIZER_BYTES + self._plan.gradient_bytes))

    def _mlp(self, ffn: int, tokens: int, copies: int) -> PassWork:
        """Matrices of a feed-forward and what is between them; `copies` share the tokens equally."""
        matrices = (self._linear(linear, tokens, copies) for linear in self._card.feed_forward(ffn))
        return self._sum(
            *matrices, self._forward_and_backward((3 if self._card.gated else 2) * tokens * ffn // self._plan.tp)
        )

    def _linear(self, linear: Linear, tokens: int | None = None, copies: int = 1) -> PassWork:
        if tokens is None:
            tokens = self._sharded if linear.split is MatrixSplit.NONE else self._tokens
        part = linear.on_rank(self._plan.tp)
        moved = ACTIVATION_BYTES * tokens * (part.inputs + part.outputs) + PARAMETER_BYTES * copies * part.weights
        work = self._kernel(2 * tokens * part.weights, moved)
        return PassWork(work, work, work)

    def _norm(self) -> PassWork:
        return self._forward_and_backward(2 * self._sharded * self._card.hidden)

    def _residual(self) -> PassWork:
        return self._forward_and_backward(3 * self._sharded * self._card.hidden)

    def _forward_and_backward(self, elements: int) -> PassWork:
        work = self._elementwise(elements)
        return PassWork(work, work + work)

    def _elementwise(self, elements: int) -> KernelWork:
        return self._kernel(0, ACTIVATION_BYTES * elements)

    def _kernel(self, num_ops: int, num_bytes: int) -> KernelWork:
        return KernelWork(num_ops, num_bytes, self._accelerator.time_ps(num_ops, num_bytes, self._plan.precision))

    @staticmethod
    def _sum(first: PassWork, *rest: PassWork) -> PassWork:
        for passes in rest:
            first = first + passes
        return first
