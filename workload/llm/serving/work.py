"""How much work a step of inference is for a rank: weights and keys and values read, operations, time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from hocket.workload.accelerators import Accelerator, Precision
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.linear import Linear, MatrixSplit
from hocket.workload.llm.plan import ACTIVATION_BYTES
from hocket.workload.llm.serving.batches import Batch
from hocket.workload.llm.serving.plan import Pool, ServingPlan
from hocket.workload.llm.work import KernelWork

__all__ = ["BatchShape", "StepWork", "draft_shapes", "shape_of"]


@dataclass(frozen=True)
class BatchShape:
    """What a step's time depends on: its new tokens, the sequences whose next tokens are asked for, and for each
    request (new tokens, those before, whether of its prompt)."""

    tokens: int
    sampled: int
    requests: tuple[tuple[int, int, bool], ...]


def shape_of(batch: Batch) -> BatchShape:
    """A decoding request samples for each of its tokens, a prompt that is complete once."""
    sampled = sum(item.emitted if item.prefill else item.tokens for item in batch)
    return BatchShape(
        sum(item.tokens for item in batch), sampled, tuple((item.tokens, item.before, item.prefill) for item in batch)
    )


def draft_shapes(batch: Batch, guesses: int) -> list[BatchShape]:
    """The passes of a draft model: it reads the prompts as well, then guesses token by token."""
    prompts = shape_of(tuple(item for item in batch if item.prefill))
    decoding = [item for item in batch if not item.prefill]
    shapes = [prompts] if prompts.tokens else []
    for guess in range(guesses if decoding else 0):
        requests = tuple((1, item.before + guess, False) for item in decoding)
        shapes.append(BatchShape(len(decoding), len(decoding), requests))
    return shapes


class StepWork:
    """The parts of a step of `card` on a rank of `pool`. Weights are read once a step, keys and values once a step for
    each request that needs them, by the memory's bandwidth."""

    def __init__(self, card: ModelCard, plan: ServingPlan, pool: Pool, accelerator: Accelerator) -> None:
        self.card, self.pool = card, pool
        self._plan, self._accelerator = plan, accelerator
        self._wide = accelerator.wide
        self._layers = Counter((card.is_windowed(layer), card.has_experts(layer)) for layer in range(card.layers))

    @cache  # noqa: B019 (lives as long as the generation of one job)
    def attention(self, shape: BatchShape, windowed: bool) -> KernelWork:
        """Norm, projections, scores and values, output, residual."""
        card, tokens = self.card, shape.tokens
        linears = (self._linear(linear, tokens) for linear in card.attention)
        around = self._bytes(ACTIVATION_BYTES * 5 * tokens * card.hidden)
        return _sum([*linears, self._core(shape, windowed), around])

    @cache  # noqa: B019
    def feed_forward(self, tokens: int) -> KernelWork:
        return self._mlp(self.card.ffn, tokens, 1, self.pool.tp) + self._around(tokens)

    @cache  # noqa: B019
    def router(self, tokens: int) -> KernelWork:
        """Norm, router and residual; its tokens are shared by the tensor parallel ranks with expert parallelism."""
        return self._linear(self.card.router, tokens, precision=self._wide) + self._around(tokens)

    @cache  # noqa: B019
    def experts(self, together: tuple[int, ...]) -> KernelWork:
        """This rank's experts, on what comes to it of so many tokens of each replica that shares them. As many experts'
        weights are read as are expected to be chosen by any."""
        experts, ep = self.card.experts, self.pool.ep
        assert experts
        here, tp = (experts.count, self.pool.tp) if ep == 1 else (experts.count // ep, 1)
        pairs = sum(self.share(tokens) for tokens in together) * (1 if ep == 1 else self.pool.tp)
        hit = here * (1 - (1 - experts.top_k / experts.count) ** sum(together))
        return self._mlp(experts.ffn, pairs, min(here, max(1, round(hit))), tp)

    @cache  # noqa: B019
    def shared_experts(self, tokens: int) -> KernelWork:
        experts = self.card.experts
        assert experts
        if not experts.shared:
            return KernelWork()
        return self._mlp(experts.ffn * experts.shared, tokens, 1, 1 if self.pool.ep > 1 else self.pool.tp)

    @cache  # noqa: B019
    def embedding(self, tokens: int) -> KernelWork:
        return self._bytes(2 * ACTIVATION_BYTES * tokens * self.card.hidden)

    @cache  # noqa: B019
    def output(self, sampled: int) -> KernelWork:
        """Norm, logits and the choice of a token."""
        if not sampled:
            return KernelWork()
        logits = self._linear(self.card.output, sampled, precision=self._wide)
        return logits + self._bytes(2 * ACTIVATION_BYTES * sampled * self.card.output.on_rank(self.pool.tp).outputs)

    def step_ps(self, shapes: Sequence[BatchShape], place: int) -> int:
        """Computation of a step in one of the replicas that step together, whose shapes these are."""
        own = shapes[place]
        together = tuple(shape.tokens for shape in shapes) if self.pool.ep > 1 else (own.tokens,)
        routed = self.routed(own.tokens)
        total = self.embedding(own.tokens).time_ps + self.output(own.sampled).time_ps
        for (windowed, has_experts), layers in self._layers.items():
            if has_experts:
                after = self.router(routed) + self.shared_experts(routed) + self.experts(together)
            else:
                after = self.feed_forward(own.tokens)
            total += layers * (self.attention(own, windowed).time_ps + after.time_ps)
        return total

    def routed(self, tokens: int) -> int:
        """Of a replica's tokens those that a rank routes: with expert parallelism a part."""
        return tokens if self.pool.ep == 1 else -(-tokens // self.pool.tp)

    def share(self, tokens: int) -> int:
        """Of a replica's tokens those that a rank sends to each of those that share the experts, one for each expert of
        a token; all are chosen equally often."""
        assert self.card.experts
        return -(-self.routed(tokens) * self.card.experts.top_k // self.pool.ep)

    def _core(self, shape: BatchShape, windowed: bool) -> KernelWork:
        """Scores and values of all requests, in one kernel; decoding with latent attention works on the latents
        (arXiv:2405.04434, section 2.1.2: the up-projections are absorbed by those of queries and output)."""
        card, tp, size = self.card, self.pool.tp, self._plan.key_value_bytes
        heads = card.heads // tp
        num_ops = moved = keys = 0
        for tokens, before, prefill in shape.requests:
            if windowed and card.window:
                before = min(before, card.window.tokens)
            pairs = tokens * before + tokens * (tokens + 1) // 2
            each = card.key_dim + card.value_dim
            kept = -(-card.key_value_heads // tp) * each
            if card.latent:
                kept = card.latent.key_value_rank + card.latent.rotary_dim
                each = each if prefill else kept + card.latent.key_value_rank
            num_ops += 2 * pairs * heads * each
            moved += size * (before + tokens) * kept + ACTIVATION_BYTES * tokens * heads * each
            keys = max(keys, before + tokens)
        if not shape.requests:
            return KernelWork()
        return KernelWork(num_ops, moved, self._accelerator.attention_ps(num_ops, moved, keys, card.value_dim))

    def _mlp(self, ffn: int, tokens: int, copies: int, tp: int) -> KernelWork:
        if not tokens:
            return KernelWork()
        card = self.card
        matrices = [self._linear(linear, tokens, copies, tp=tp) for linear in card.feed_forward(ffn)]
        between = self._bytes(ACTIVATION_BYTES * (3 if card.gated else 2) * tokens * ffn // tp)
        return _sum([*matrices, between])

    def _linear(
        self, linear: Linear, tokens: int, copies: int = 1, tp: int | None = None, precision: Precision | None = None
    ) -> KernelWork:
        """A matrix on `tokens` rows in all; `copies` of it share them, in one kernel."""
        if not tokens:
            return KernelWork()
        tp = self.pool.tp if tp is None else tp
        part = linear if linear.split is MatrixSplit.NONE else linear.on_rank(tp)
        size = self._plan.weight_bytes if precision is None else ACTIVATION_BYTES
        moved = ACTIVATION_BYTES * tokens * (part.inputs + part.outputs) + size * copies * part.weights
        copies = min(copies, tokens)
        rows = -(-tokens // copies)
        time_ps = self._accelerator.matmul_ps(
            rows, part.outputs, part.inputs, moved, precision or self._plan.precision, copies
        )
        return KernelWork(2 * tokens * part.weights, moved, time_ps)

    def _around(self, tokens: int) -> KernelWork:
        return self._bytes(ACTIVATION_BYTES * 5 * tokens * self.card.hidden)

    def _bytes(self, num_bytes: int) -> KernelWork:
        return KernelWork(0, num_bytes, self._accelerator.elementwise_ps(num_bytes))


def _sum(works: Sequence[KernelWork]) -> KernelWork:
    total = KernelWork()
    for work in works:
        total += work
    return total
