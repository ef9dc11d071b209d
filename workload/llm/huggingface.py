"""Model cards from the config.json that stands beside a model's weights on Hugging Face."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest
from hocket.workload.llm.card import Experts, LatentAttention, ModelCard, Window

__all__ = ["read_card"]

_FULL, _SLIDING = "full_attention", "sliding_attention"


class _Kind(msgspec.Struct):
    model_type: str
    text_config: dict[str, Any] | None = None


class _Llama(msgspec.Struct):
    """llama, mistral, qwen2, qwen3, seed_oss; with experts mixtral, and the base of the others."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    num_local_experts: int = 0
    num_experts_per_tok: int | None = None
    num_nextn_predict_layers: int | None = None

    def experts(self) -> Experts | None:
        if not self.num_local_experts:
            return None
        return Experts(self.num_local_experts, self.num_experts_per_tok or 1, self.intermediate_size)

    def card(self, kind: str, source: str) -> ModelCard:
        bias = self.attention_bias and kind != "qwen2"
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
            biases=self.mlp_bias and self.attention_bias,
            attention_biases=bias or kind == "qwen2",
            projection_bias=bias,
            head_norms=kind in ("qwen3", "qwen3_moe"),
            tied_embeddings=self.tie_word_embeddings,
            experts=self.experts(),
            source=source,
            assumed=tuple(self._assumed()),
        )

    def _assumed(self) -> list[str]:
        """What the file does not say, and what of it is left out."""
        told = [
            ("num_key_value_heads", self.num_key_value_heads, "as many as heads"),
            ("head_dim", self.head_dim, "hidden_size / num_attention_heads"),
        ]
        notes = [f"{what} is not given: {assumed}" for what, value, assumed in told if value is None]
        if self.num_nextn_predict_layers:
            notes.append(f"{self.num_nextn_predict_layers} layers of multi-token prediction are left out")
        return notes


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


class _Mpt(msgspec.Struct):
    """mpt: ALiBi in place of positions, no biases, norms without one."""

    d_model: int
    n_layers: int
    n_heads: int
    vocab_size: int
    max_seq_len: int
    expansion_ratio: int = 4
    no_bias: bool = True

    def card(self, kind: str, source: str) -> ModelCard:
        return ModelCard(
            name=kind,
            layers=self.n_layers,
            hidden=self.d_model,
            heads=self.n_heads,
            key_value_heads=self.n_heads,
            head_dim=self.d_model // max(self.n_heads, 1),
            ffn=self.expansion_ratio * self.d_model,
            vocabulary=self.vocab_size,
            sequence=self.max_seq_len,
            gated=False,
            layer_norm=not self.no_bias,
            biases=not self.no_bias,
            tied_embeddings=True,
            source=source,
        )


class _Nemotron(_Llama):
    """nemotron: squared ReLU in place of a gate, norms with a bias."""

    def card(self, kind: str, source: str) -> ModelCard:
        return replace(super().card(kind, source), gated=False, layer_norm=True)


class _Windowed(_Llama):
    """gpt_oss: a window in every other layer, sinks, and biases everywhere but in the norms."""

    sliding_window: int | None = None
    layer_types: tuple[str, ...] | None = None

    def card(self, kind: str, source: str) -> ModelCard:
        card = super().card(kind, source)
        if card.experts:
            card = replace(card, experts=replace(card.experts, router_bias=True, biases=True))
        window = Window(self.sliding_window, self._full_every()) if self.sliding_window else None
        return replace(card, sinks=True, window=window)

    def _full_every(self) -> int:
        """Every how many layers attend to all: their last layer's pattern repeats."""
        kinds = self.layer_types or (_SLIDING, _FULL)
        if _FULL not in kinds:
            return 0
        every = kinds.index(_FULL) + 1
        for layer, found in enumerate(kinds):
            if found != (_FULL if (layer + 1) % every == 0 else _SLIDING):
                raise msgspec.ValidationError(
                    f"layer_types: layer {layer} is '{found}'; expected {_FULL} in every {every}-th layer and "
                    f"{_SLIDING} in the others"
                )
        return every


class _Llama4(_Llama):
    """llama4_text: experts in every `interleave_moe_layer_step`-th layer, chunked attention in 3 of 4."""

    intermediate_size_mlp: int = 0
    interleave_moe_layer_step: int = 1
    attention_chunk_size: int | None = None

    def card(self, kind: str, source: str) -> ModelCard:
        experts = self.experts()
        return replace(
            super().card(kind, source),
            ffn=self.intermediate_size_mlp or self.intermediate_size,
            experts=replace(experts, shared=1, every=self.interleave_moe_layer_step) if experts else None,
            window=Window(self.attention_chunk_size, 4, chunked=True) if self.attention_chunk_size else None,
        )


class _Qwen3Experts(_Llama):
    """qwen3_moe."""

    num_experts: int = 0
    moe_intermediate_size: int = 0
    decoder_sparse_step: int = 1

    def experts(self) -> Experts | None:
        top_k = self.num_experts_per_tok or 1
        return Experts(self.num_experts, top_k, self.moe_intermediate_size, every=self.decoder_sparse_step)


class _Routed(_Llama):
    """glm4_moe: routed and shared experts after a few dense layers."""

    n_routed_experts: int = 0
    n_shared_experts: int | None = None
    moe_intermediate_size: int = 0
    first_k_dense_replace: int = 0
    use_qk_norm: bool = False

    def experts(self) -> Experts | None:
        return Experts(
            self.n_routed_experts,
            self.num_experts_per_tok or 1,
            self.moe_intermediate_size,
            self.n_shared_experts or 0,
            self.first_k_dense_replace,
            router_bias=True,
        )

    def card(self, kind: str, source: str) -> ModelCard:
        # GLM's attention_bias is of queries, keys and values only.
        return replace(super().card(kind, source), head_norms=self.use_qk_norm, projection_bias=False)


class _DeepSeek(_Routed):
    """deepseek_v3, kimi_k2."""

    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0

    def card(self, kind: str, source: str) -> ModelCard:
        latent = LatentAttention(
            self.q_lora_rank, self.kv_lora_rank, self.qk_nope_head_dim, self.qk_rope_head_dim, self.v_head_dim
        )
        return replace(super().card(kind, source), latent=latent)


_KINDS: dict[str, type[_Llama | _Gpt2 | _Mpt]] = {
    "llama": _Llama,
    "mistral": _Llama,
    "mixtral": _Llama,
    "qwen2": _Llama,
    "qwen3": _Llama,
    "qwen3_moe": _Qwen3Experts,
    "gpt2": _Gpt2,
    "mpt": _Mpt,
    "nemotron": _Nemotron,
    "gpt_oss": _Windowed,
    "llama4_text": _Llama4,
    "glm4_moe": _Routed,
    "deepseek_v3": _DeepSeek,
    "kimi_k2": _DeepSeek,
}


def read_card(path: Path | str) -> ModelCard:
    """The card of a config.json; its sequence is the longest that the model takes.

    Of a model with text and images (`text_config`) the text's. What the file leaves open is assumed as the model's own
    code does, and said in the card's `assumed`; multi-token prediction layers are left out. Raises FormatError, naming
    the file, for another kind of model and for values that are missing or impossible.
    """
    text = read_text(path)
    try:
        head = msgspec.json.decode(text, type=_Kind)
        if head.text_config is not None:
            return _card(head.text_config, str(path))
        return _card(msgspec.json.decode(text), str(path))
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: expected a model's config.json: {error}") from error


def _card(config: dict[str, Any], path: str) -> ModelCard:
    kind = msgspec.convert(config, _Kind).model_type
    if kind not in _KINDS:
        raise FormatError(f"{path}: model_type '{kind}' is not supported; {nearest(kind, _KINDS)}")
    return msgspec.convert(config, _KINDS[kind]).card(kind, path)
