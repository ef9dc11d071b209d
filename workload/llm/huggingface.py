"""Model cards from the config.json that stands beside a model's weights on Hugging Face."""

from dataclasses import replace
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.workload.llm.card import Experts, LatentAttention, ModelCard

__all__ = ["read_card"]


class _Kind(msgspec.Struct):
    model_type: str


class _Llama(msgspec.Struct):
    """llama, mistral, qwen2; with experts mixtral."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    tie_word_embeddings: bool = False
    num_local_experts: int = 0
    num_experts_per_tok: int = 0

    def card(self, kind: str, source: str) -> ModelCard:
        experts = Experts(self.num_local_experts, self.num_experts_per_tok, self.intermediate_size)
        return ModelCard(
            name=kind,
            layers=self.num_hidden_layers,
            hidden=self.hidden_size,
            heads=self.num_attention_heads,
            key_value_heads=self.num_key_value_heads or self.num_attention_heads,
            head_dim=self.head_dim or self.hidden_size // max(self.num_attention_heads, 1),
            ffn=self.intermediate_size,
            vocabulary=self.vocab_size,
            sequence=self.max_position_embeddings,
            attention_biases=kind == "qwen2",
            tied_embeddings=self.tie_word_embeddings,
            experts=experts if self.num_local_experts else None,
            source=source,
        )


class _Gpt2(msgspec.Struct):
    n_embd: int
    n_layer: int
    n_head: int
    vocab_size: int
    n_positions: int
    n_inner: int | None = None
    tie_word_embeddings: bool = True

    def card(self, kind: str, source: str) -> ModelCard:
        return ModelCard(
            name=kind,
            layers=self.n_layer,
            hidden=self.n_embd,
            heads=self.n_head,
            key_value_heads=self.n_head,
            head_dim=self.n_embd // max(self.n_head, 1),
            ffn=self.n_inner or 4 * self.n_embd,
            vocabulary=self.vocab_size,
            sequence=self.n_positions,
            gated=False,
            layer_norm=True,
            biases=True,
            positions=self.n_positions,
            tied_embeddings=self.tie_word_embeddings,
            source=source,
        )


class _DeepSeek(_Llama):
    """deepseek_v3."""

    n_routed_experts: int = 0
    n_shared_experts: int = 0
    moe_intermediate_size: int = 0
    first_k_dense_replace: int = 0
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0

    def card(self, kind: str, source: str) -> ModelCard:
        return replace(
            super().card(kind, source),
            experts=Experts(
                self.n_routed_experts,
                self.num_experts_per_tok,
                self.moe_intermediate_size,
                self.n_shared_experts,
                self.first_k_dense_replace,
                router_bias=True,
            ),
            latent=LatentAttention(
                self.q_lora_rank, self.kv_lora_rank, self.qk_nope_head_dim, self.qk_rope_head_dim, self.v_head_dim
            ),
        )


_KINDS: dict[str, type[_Llama | _Gpt2]] = {
    "llama": _Llama,
    "mistral": _Llama,
    "mixtral": _Llama,
    "qwen2": _Llama,
    "gpt2": _Gpt2,
    "deepseek_v3": _DeepSeek,
}


def read_card(path: Path | str) -> ModelCard:
    """The card of a config.json; its sequence is the longest that the model takes.

    Multi-token prediction layers (DeepSeek-V3) are left out. Raises FormatError, naming the file, for another kind of
    model and for values that are missing or impossible.
    """
    text = read_text(path)
    try:
        kind = msgspec.json.decode(text, type=_Kind).model_type
        if kind not in _KINDS:
            raise FormatError(f"{path}: model_type '{kind}' is not supported; {nearest(kind, _KINDS)}")
        return msgspec.json.decode(text, type=_KINDS[kind]).card(kind, str(path))
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: expected a model's config.json: {error}") from error
