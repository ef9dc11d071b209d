"""How a model is served: ranks, batches, formats, and what does not fit."""

from dataclasses import dataclass
from fractions import Fraction

from hocket.base.errors import Infeasible
from hocket.base.units import format_bytes
from hocket.workload.accelerators import Accelerator, Precision
from hocket.workload.llm.card import ModelCard
from hocket.workload.llm.layout import require
from hocket.workload.llm.parameters import embedding_parameters, layer_parameters, output_parameters
from hocket.workload.llm.plan import ParallelPlan

__all__ = ["Pool", "ServingPlan", "Speculation"]

_WIDE = (Precision.BF16, Precision.FP16)


@dataclass(frozen=True)
class Pool:
    """`dp` replicas of the attention of `tp` ranks each, with requests of their own; their experts are shared by groups
    of `ep` ranks (DP attention), or split `tp` ways where ep is 1."""

    tp: int = 1
    dp: int = 1
    ep: int = 1

    @property
    def num_ranks(self) -> int:
        return self.tp * self.dp

    @property
    def together(self) -> int:
        """Replicas that step together, for they share experts."""
        return max(1, self.ep // self.tp)

    def check(self, card: ModelCard) -> None:
        """Raises Infeasible, saying what does not divide."""
        for what in ("tp", "dp", "ep"):
            require(getattr(self, what) >= 1, f"{what} is {getattr(self, what)}; it must be positive")
        for what, size in (("heads", card.heads), ("ffn", card.ffn)):
            require(size % self.tp == 0, f"tp {self.tp} must divide the model's {size} {what}")
        heads = card.key_value_heads
        require(
            bool(card.latent) or heads % self.tp == 0 or self.tp % heads == 0,
            f"tp {self.tp} must divide the {heads} key/value heads, or be a multiple of them",
        )
        if self.ep == 1:
            return
        if card.experts is None:
            raise Infeasible(f"plan: ep {self.ep}: {card.name} has no experts")
        count = card.experts.count
        require(count % self.ep == 0, f"ep {self.ep} must divide the {count} experts")
        require(self.num_ranks % self.ep == 0, f"ep {self.ep} must divide tp * dp = {self.num_ranks}")
        require(self.ep % self.tp == 0, f"tp {self.tp} must divide ep {self.ep}: replicas share experts whole")


@dataclass(frozen=True)
class Speculation:
    """A draft model guesses `tokens` tokens, of which on average `accepted` are right; the target adds one more
    (arXiv:2211.17192)."""

    draft: ModelCard
    tokens: int
    accepted: Fraction


@dataclass(frozen=True)
class ServingPlan:
    """Ranks, batches, formats.

    `prefill`: ranks that do nothing but prompts, whose keys and values then go to those of `pool`; None: both are done
    by `pool`. `max_batch` requests a replica has at a time, `max_tokens` tokens per step; with `chunked` a step takes
    these of decoding requests and then parts of prompts (Sarathi-Serve, arXiv:2403.02310), else prompts go first, whole
    (Orca's iterations, OSDI 2022). `memory_part`: of an accelerator's memory for weights, keys and values.
    """

    pool: Pool
    prefill: Pool | None = None
    max_batch: int = 256
    max_tokens: int = 8192
    chunked: bool = False
    speculation: Speculation | None = None
    precision: Precision = Precision.BF16
    key_value_bytes: int = 2
    memory_part: Fraction = Fraction(9, 10)

    @property
    def num_ranks(self) -> int:
        return self.pool.num_ranks + (self.prefill.num_ranks if self.prefill else 0)

    @property
    def weight_bytes(self) -> int:
        return 2 if self.precision in _WIDE else 1

    @property
    def draft_tokens(self) -> int:
        return self.speculation.tokens if self.speculation else 0

    def check(self, card: ModelCard) -> None:
        """Raises Infeasible when this model cannot be served by this plan, whatever the accelerator."""
        for pool in filter(None, (self.pool, self.prefill)):
            pool.check(card)
            if self.speculation:
                Pool(pool.tp).check(self.speculation.draft)
        for what in ("max_batch", "max_tokens"):
            require(getattr(self, what) >= 1, f"{what} is {getattr(self, what)}; it must be positive")
        require(self.key_value_bytes in (1, 2), "keys and values have 1 or 2 bytes")
        if self.speculation:
            drafted = self.speculation.tokens
            require(0 < drafted <= 64, f"a draft of {drafted} tokens; 1 to 64 are possible")
            accepted = float(self.speculation.accepted)
            require(0 <= accepted <= drafted, f"{accepted:g} tokens cannot be accepted of {drafted}")

    def weights(self, card: ModelCard, pool: Pool) -> int:
        """Bytes of a rank's weights, the draft model's too."""
        total = _weights(card, pool)
        if self.speculation:
            total += _weights(self.speculation.draft, Pool(pool.tp))
        return total * self.weight_bytes

    def key_values(self, card: ModelCard, pool: Pool, tokens: int) -> int:
        """Bytes of a rank's keys and values of one request of so many tokens."""
        total = _elements(card, pool.tp, tokens)
        if self.speculation:
            total += _elements(self.speculation.draft, pool.tp, tokens)
        return total * self.key_value_bytes

    def room(self, card: ModelCard, pool: Pool, accelerator: Accelerator) -> int | None:
        """Bytes that are left for keys and values; None: the accelerator's memory is not known. Raises Infeasible where
        the weights alone do not fit."""
        if not accelerator.memory_bytes:
            return None
        there, weights = int(accelerator.memory_bytes * self.memory_part), self.weights(card, pool)
        require(
            weights < there,
            f"the weights take {format_bytes(weights)} on a rank, and {format_bytes(there)} of {accelerator.name} may"
            " be used: choose more tp, more ep or a narrower format",
        )
        return there - weights


def _weights(card: ModelCard, pool: Pool) -> int:
    split, whole = ParallelPlan(tp=pool.tp), ParallelPlan()
    total = embedding_parameters(card, split).dense + output_parameters(card, split).dense
    for layer in range(card.layers):
        held = layer_parameters(card, split, layer)
        experts = held.experts if pool.ep == 1 else layer_parameters(card, whole, layer).experts // pool.ep
        total += held.dense + experts
    return total


def _elements(card: ModelCard, tp: int, tokens: int) -> int:
    """Latent attention keeps its latents on every rank; windows keep no more than themselves."""
    if card.latent:
        each = card.latent.key_value_rank + card.latent.rotary_dim
    else:
        each = -(-card.key_value_heads // tp) * (card.key_dim + card.value_dim)
    windowed = card.window.tokens if card.window else tokens
    return sum(each * (min(tokens, windowed) if card.is_windowed(layer) else tokens) for layer in range(card.layers))
