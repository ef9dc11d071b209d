"""A model card: what a transformer language model is made of, its parameters and its operations."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from hocket.base.errors import TraceError
from hocket.base.registry import Entry
from hocket.workload.llm.linear import Linear, MatrixSplit

__all__ = ["Experts", "LatentAttention", "ModelCard"]

_MOST_LAYERS = 1 << 16
_MOST = 1 << 31


@dataclass(frozen=True)
class Experts:
    """Mixture of experts: each token goes to `top_k` of `count` experts of `ffn` and to `shared` ones (DeepSeekMoE,
    arXiv:2401.06066); the first `dense_layers` layers have none. `router_bias`: one more parameter for each expert."""

    count: int
    top_k: int
    ffn: int
    shared: int = 0
    dense_layers: int = 0
    router_bias: bool = False


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
class ModelCard(Entry):
    """A decoder-only transformer. Sizes are elements, `sequence` tokens.

    `gated`: the feed-forward has a gate (three matrices); `layer_norm`: norms have a bias, too; `biases`: so have all
    matrices but the output's, `attention_biases` those of queries, keys and values; `positions`: learned position
    embeddings; `tied_embeddings`: the output layer is the input embedding. `source` says where the figures come from.
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
    positions: int = 0
    tied_embeddings: bool = False
    experts: Experts | None = None
    latent: LatentAttention | None = None

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
        output = Linear(self.heads * self.value_dim, self.hidden, MatrixSplit.INPUTS, self.biases)
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

    def feed_forward(self, ffn: int) -> tuple[Linear, ...]:
        """The matrices of a feed-forward, or an expert, of this size."""
        return (
            Linear(self.hidden, (2 if self.gated else 1) * ffn, MatrixSplit.OUTPUTS, self.biases),
            Linear(ffn, self.hidden, MatrixSplit.INPUTS, self.biases),
        )

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
        return self.experts is not None and layer >= self.experts.dense_layers

    @property
    def norm(self) -> int:
        """Parameters of one norm of the hidden state."""
        return self.hidden * (2 if self.layer_norm else 1)

    @property
    def attention_norms(self) -> int:
        """Parameters of the norms of one layer's attention."""
        return self.norm + (self.latent.query_rank + self.latent.key_value_rank if self.latent else 0)

    def matrices(self, layer: int) -> Iterator[tuple[int, Linear]]:
        """How often a token meets each matrix of a layer: of the experts, those it is sent to and the shared ones."""
        yield from ((1, linear) for linear in self.attention)
        if self.experts and self.has_experts(layer):
            yield 1, self.router
            met = self.experts.top_k + self.experts.shared
            yield from ((met, linear) for linear in self.feed_forward(self.experts.ffn))
        else:
            yield from ((1, linear) for linear in self.feed_forward(self.ffn))

    @property
    def num_parameters(self) -> int:
        """All parameters."""
        if self.experts is None:
            return self.num_active_parameters
        unmet = self.experts.count - self.experts.top_k
        expert = sum(linear.parameters for linear in self.feed_forward(self.experts.ffn))
        return self.num_active_parameters + (self.layers - self.experts.dense_layers) * unmet * expert

    @property
    def num_active_parameters(self) -> int:
        """The parameters that one token meets: of the experts, those it is sent to."""
        norms = self.layers * (self.attention_norms + self.norm) + self.norm
        embeddings = self.output.weights * (1 if self.tied_embeddings else 2) + self.positions * self.hidden
        matrices = (count * linear.parameters for layer in range(self.layers) for count, linear in self.matrices(layer))
        return sum(matrices) + norms + embeddings

    @property
    def score_flops(self) -> int:
        """Operations for each token in one layer's scores and their product with the values, a forward pass.

        The half that causal attention masks counts, as in the papers.
        """
        return 2 * self.sequence * self.heads * (self.key_dim + self.value_dim)

    def forward_flops(self, tokens: int) -> int:
        """Floating-point operations of a forward pass: two for each weight and token, and the attention's scores.

        Megatron-LM's count (arXiv:2104.04473, equation 3) is three times this without recomputation, for its models.
        """
        weights = sum(count * linear.weights for layer in range(self.layers) for count, linear in self.matrices(layer))
        return tokens * (2 * (weights + self.output.weights) + self.layers * self.score_flops)
