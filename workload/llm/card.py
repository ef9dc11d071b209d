"""A model card: what a transformer language model is made of, its parameters and its operations."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from hocket.base.errors import TraceError
from hocket.base.registry import Entry
from hocket.workload.llm.linear import Linear, MatrixSplit

__all__ = ["Experts", "LatentAttention", "ModelCard", "Window"]

_MOST_LAYERS = 1 << 16
_MOST = 1 << 31


@dataclass(frozen=True)
class Experts:
    """Mixture of experts: each token goes to `top_k` of `count` experts of `ffn` and to `shared` ones (DeepSeekMoE,
    arXiv:2401.06066); the first `dense_layers` layers have none, of the others every `every`-th has them.
    `router_bias`: one more parameter for each expert; `biases`: the experts' matrices have biases."""

    count: int
    top_k: int
    ffn: int
    shared: int = 0
    dense_layers: int = 0
    every: int = 1
    router_bias: bool = False
    biases: bool = False


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): ranks of the compressed queries and keys/values,
    and sizes of a head's parts."""

    query_rank: int
    key_value_rank: int
    plain_dim: int
    rotary_dim: int
    value_dim: int


@dataclass(frozen=True)
class Window:
    """Attention to the last `tokens` tokens only (arXiv:2004.05150), or to a block of so many where `chunked`, in all
    layers but every `full_every`-th (0: in all)."""

    tokens: int
    full_every: int = 0
    chunked: bool = False


@dataclass(frozen=True)
class ModelCard(Entry):
    """A decoder-only transformer. Sizes are elements, `sequence` tokens.

    `gated`: the feed-forward has a gate (three matrices); `layer_norm`: norms have a bias, too; `biases`: so have all
    matrices but the output's, `attention_biases` those of queries, keys and values, `projection_bias` that of the
    attention's output; `head_norms`: queries and keys have a norm of `head_dim` parameters each; `sinks`: each head has
    one more logit; `positions`: learned position embeddings; `tied_embeddings`: the output layer is the input
    embedding. `source` says where the figures come from, `assumed` what no file said.
    """

    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    ffn: int
    vocabulary: int
    sequence: int
    head_dim: int
    gated: bool = True
    layer_norm: bool = False
    biases: bool = False
    attention_biases: bool = False
    projection_bias: bool = False
    head_norms: bool = False
    sinks: bool = False
    positions: int = 0
    tied_embeddings: bool = False
    experts: Experts | None = None
    latent: LatentAttention | None = None
    window: Window | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what in ("layers", "hidden", "heads", "key_value_heads", "ffn", "vocabulary", "sequence", "head_dim"):
            self._check_range(what, getattr(self, what), 1, _MOST_LAYERS if what == "layers" else _MOST)
        self._check_range("positions", self.positions, 0, _MOST)
        if self.heads % self.key_value_heads:
            raise TraceError(
                f"model {self.name}: {self.heads} heads cannot share {self.key_value_heads} key/value heads evenly"
            )
        if self.experts:
            self._check_experts(self.experts)
        if self.window:
            self._check_range("the attention's window", self.window.tokens, 1, _MOST)
            self._check_range("the step between layers that attend to all", self.window.full_every, 0, _MOST_LAYERS)
        if self.latent:
            for field in fields(self.latent):
                self._check_range(f"the latent attention's {field.name}", getattr(self.latent, field.name), 1, _MOST)

    def _check_experts(self, experts: Experts) -> None:
        if not 0 < experts.top_k <= experts.count:
            raise TraceError(f"model {self.name}: a token cannot go to {experts.top_k} of {experts.count}")
        self._check_range("number of experts", experts.count, 1, _MOST)
        self._check_range("the experts' ffn", experts.ffn, 1, _MOST)
        self._check_range("number of shared experts", experts.shared, 0, _MOST)
        self._check_range("number of layers without experts", experts.dense_layers, 0, self.layers)
        self._check_range("the step between layers with experts", experts.every, 1, _MOST_LAYERS)

    def _check_range(self, what: str, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            raise TraceError(f"model {self.name}: {what} is {value}; it must be {least} to {most}")

    @property
    def key_dim(self) -> int:
        """Elements of one head's query and key."""
        return self.latent.plain_dim + self.latent.rotary_dim if self.latent else self.head_dim

    @property
    def value_dim(self) -> int:
        """Elements of one head's value."""
        return self.latent.value_dim if self.latent else self.head_dim

    @property
    def attention(self) -> tuple[Linear, ...]:
        """The matrices of one layer's attention."""
        bias = self.biases or self.projection_bias
        output = Linear(self.heads * self.value_dim, self.hidden, MatrixSplit.INPUTS, bias)
        if not self.latent:
            outputs = (self.heads + 2 * self.key_value_heads) * self.head_dim
            return Linear(self.hidden, outputs, MatrixSplit.OUTPUTS, self.biases or self.attention_biases), output
        latent = self.latent
        return (
            Linear(self.hidden, latent.query_rank, MatrixSplit.NONE),
            Linear(latent.query_rank, self.heads * self.key_dim, MatrixSplit.OUTPUTS),
            Linear(self.hidden, latent.key_value_rank + latent.rotary_dim, MatrixSplit.NONE),
            Linear(latent.key_value_rank, self.heads * (latent.plain_dim + latent.value_dim), MatrixSplit.OUTPUTS),
            output,
        )

    def feed_forward(self, ffn: int, biases: bool | None = None) -> tuple[Linear, ...]:
        """The matrices of a feed-forward of this size; `biases`: the model's, unless given."""
        bias = self.biases if biases is None else biases
        return (
            Linear(self.hidden, (2 if self.gated else 1) * ffn, MatrixSplit.OUTPUTS, bias),
            Linear(ffn, self.hidden, MatrixSplit.INPUTS, bias),
        )

    @property
    def expert(self) -> tuple[Linear, ...]:
        """The matrices of one expert."""
        assert self.experts
        return self.feed_forward(self.experts.ffn, self.biases or self.experts.biases)

    @property
    def router(self) -> Linear:
        """The matrix that chooses the experts of a token."""
        assert self.experts
        return Linear(self.hidden, self.experts.count, MatrixSplit.NONE, self.experts.router_bias)

    @property
    def output(self) -> Linear:
        """The output layer, from hidden state to vocabulary."""
        return Linear(self.hidden, self.vocabulary, MatrixSplit.OUTPUTS)

    def has_experts(self, layer: int) -> bool:
        if self.experts is None or layer < self.experts.dense_layers:
            return False
        return (layer - self.experts.dense_layers + 1) % self.experts.every == 0

    @property
    def num_expert_layers(self) -> int:
        return sum(map(self.has_experts, range(self.layers)))

    def is_windowed(self, layer: int) -> bool:
        """Whether a layer's attention is to the window only."""
        if self.window is None or self.window.tokens >= self.sequence:
            return False
        return not (self.window.full_every and (layer + 1) % self.window.full_every == 0)

    @property
    def norm(self) -> int:
        """Parameters of one norm of the hidden state."""
        return self.hidden * (2 if self.layer_norm else 1)

    @property
    def attention_norms(self) -> int:
        """Parameters of the norms of one layer's attention, and of its sinks."""
        latent = self.latent.query_rank + self.latent.key_value_rank if self.latent else 0
        heads = (2 * self.head_dim if self.head_norms else 0) + (self.heads if self.sinks else 0)
        return self.norm + latent + heads

    def matrices(self, layer: int) -> Iterator[tuple[int, Linear]]:
        """How often a token meets each matrix of a layer: of the experts, those it is sent to and the shared ones."""
        yield from ((1, linear) for linear in self.attention)
        if self.experts and self.has_experts(layer):
            yield 1, self.router
            met = self.experts.top_k + self.experts.shared
            yield from ((met, linear) for linear in self.expert)
        else:
            yield from ((1, linear) for linear in self.feed_forward(self.ffn))

    @property
    def num_parameters(self) -> int:
        """All parameters."""
        if self.experts is None:
            return self.num_active_parameters
        unmet = self.experts.count - self.experts.top_k
        expert = sum(linear.parameters for linear in self.expert)
        return self.num_active_parameters + self.num_expert_layers * unmet * expert

    @property
    def num_active_parameters(self) -> int:
        """The parameters that one token meets: of the experts, those it is sent to."""
        norms = self.layers * (self.attention_norms + self.norm) + self.norm
        embeddings = self.output.weights * (1 if self.tied_embeddings else 2) + self.positions * self.hidden
        matrices = (count * linear.parameters for layer in range(self.layers) for count, linear in self.matrices(layer))
        return sum(matrices) + norms + embeddings

    def attended(self, windowed: bool, causal: bool = False) -> int:
        """Tokens that all of a sequence's tokens attend to, added up, in a layer with or without the window; without
        `causal` those that the mask hides count, of a window those within it."""
        n = self.sequence
        if not windowed or self.window is None:
            return n * (n + 1) // 2 if causal else n * n
        tokens = min(self.window.tokens, n)
        if not causal:
            return n * tokens
        if self.window.chunked:
            chunks, rest = divmod(n, tokens)
            return chunks * (tokens * (tokens + 1) // 2) + rest * (rest + 1) // 2
        return tokens * (tokens + 1) // 2 + (n - tokens) * tokens

    def score_flops(self, windowed: bool = False, causal: bool = False) -> int:
        """Operations of one sequence in a layer's scores and their product with the values, a forward pass.

        Without `causal` the half that the mask hides counts, as in the papers.
        """
        return 2 * self.attended(windowed, causal) * self.heads * (self.key_dim + self.value_dim)

    def forward_flops(self, tokens: int, causal: bool = False) -> int:
        """Floating-point operations of a forward pass: two for each weight and token, and the attention's scores.

        Megatron-LM's count (arXiv:2104.04473, equation 3) is three times this without recomputation, for its models.
        """
        weights = sum(count * linear.weights for layer in range(self.layers) for count, linear in self.matrices(layer))
        scores = sum(self.score_flops(self.is_windowed(layer), causal) for layer in range(self.layers))
        return tokens * 2 * (weights + self.output.weights) + tokens * scores // self.sequence
