"""Model cards: parameters and operations against published numbers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.workload.llm import MODELS, ModelCard
from hocket.workload.llm.huggingface import read_card


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # What the published weights hold, to the parameter.
        ("llama2-7b", 6_738_415_616),
        ("llama2-70b", 68_976_648_192),
        ("llama3-8b", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
        ("llama3-405b", 405_853_388_800),
        ("llama2-13b", 13_015_864_320),
        ("mixtral-8x7b", 46_702_792_704),
        ("mixtral-8x22b", 140_630_071_296),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-32b", 32_762_123_264),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("gpt-oss-20b", 20_914_757_184),
        ("gpt-oss-120b", 116_829_156_672),
        ("mpt-7b", 6_649_286_656),
    ],
)
def test_parameters_of_published_weights(name: str, parameters: int) -> None:
    assert MODELS[name].num_parameters == parameters


@pytest.mark.parametrize(
    ("name", "billions", "active_billions"),
    [
        ("gpt3-175b", 175, 175),
        ("mixtral-8x7b", 47, 13),
        ("deepseek-v3", 671, 38),
        # Llama 4's 109 and 402 B have
        # the vision encoder's 0.9 B; GLM-4.5's 355 B the multi-token prediction layer.
        ("kimi-k2", 1026, 33),
        ("llama4-scout", 108, 17),
        ("llama4-maverick", 401, 17),
        ("glm-4.5", 353, 34),
        ("nemotron4-15b", 16, 16),
        ("nemotron4-340b", 341, 341),
        ("mpt-30b", 30, 30),
    ],
)
def test_parameters_as_papers_round_them(name: str, billions: int, active_billions: int) -> None:
    # DeepSeek-V3's paper says 37 B: it leaves out the input embedding (129280 * 7168 = 0.93 B), a look-up.
    card = MODELS[name]
    assert round(card.num_parameters / 1e9) == billions
    assert round(card.num_active_parameters / 1e9) == active_billions


def test_deepseek_v3_activates_37_billion_without_its_input_embedding() -> None:
    card = MODELS["deepseek-v3"]
    assert round((card.num_active_parameters - 129280 * 7168) / 1e9) == 37


def test_operations_are_those_of_megatrons_formula() -> None:
    # arXiv:2104.04473 equation 3 without recomputation (3 passes of layers instead of 4):
    # 72 B s l h^2 (1 + s / 6h + V / 12lh), multiplied out so that it stays an integer.
    card = MODELS["gpt3-175b"]
    batch, s, h, n, v = 3, card.sequence, card.hidden, card.layers, card.vocabulary
    assert 3 * card.forward_flops(batch * s) == 72 * batch * s * n * h * h + 12 * batch * s * s * n * h + 6 * (
        batch * s * h * v
    )


def test_operations_are_six_for_each_parameter_and_twelve_for_the_attention() -> None:
    # PaLM (arXiv:2204.02311, appendix B): 6 N + 12 L H Q T a token. N there counts matrices that multiply: not the
    # input embedding and not the norms (2 a layer and the last).
    card = MODELS["llama3-8b"]
    matrices = card.num_parameters - 128256 * 4096 - (2 * 32 + 1) * 4096
    assert 3 * card.forward_flops(1) == 6 * matrices + 12 * 32 * 32 * 128 * 8192


def test_gpt2_from_its_config(tmp_path: Path) -> None:
    config = {
        "model_type": "gpt2",
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "vocab_size": 50257,
        "n_positions": 1024,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert read_card(path).num_parameters == 124_439_808  # what its published weights hold


_LLAMA3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}
_MIXTRAL = {
    **_LLAMA3_8B,
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
_QWEN = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
}
_DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}


_QWEN3_30B = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 768,
    "decoder_sparse_step": 1,
}
_QWEN3_8B = {
    **_LLAMA3_8B,
    "model_type": "qwen3",
    "head_dim": 128,
    "num_hidden_layers": 36,
    "intermediate_size": 12288,
    "vocab_size": 151936,
}
_GPT_OSS_20B = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "vocab_size": 201088,
    "max_position_embeddings": 131072,
    "attention_bias": True,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}
_LLAMA4_SCOUT = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "vocab_size": 202048,
        "max_position_embeddings": 10485760,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "attention_chunk_size": 8192,
    },
}
_GLM45 = {
    "model_type": "glm4_moe",
    "hidden_size": 5120,
    "num_hidden_layers": 92,
    "num_attention_heads": 96,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 12288,
    "vocab_size": 151552,
    "max_position_embeddings": 131072,
    "attention_bias": True,
    "use_qk_norm": True,
    "n_routed_experts": 160,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536,
    "first_k_dense_replace": 3,
    "num_nextn_predict_layers": 1,
}
_KIMI = {
    **_DEEPSEEK,
    "model_type": "kimi_k2",
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "vocab_size": 163840,
    "n_routed_experts": 384,
    "first_k_dense_replace": 1,
}
_NEMOTRON_15B = {
    "model_type": "nemotron",
    "hidden_size": 6144,
    "num_hidden_layers": 32,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "intermediate_size": 24576,
    "vocab_size": 256000,
    "max_position_embeddings": 4096,
}
_MPT_7B = {
    "model_type": "mpt",
    "d_model": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "vocab_size": 50432,
    "max_seq_len": 2048,
    "expansion_ratio": 4,
    "no_bias": True,
}


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (_QWEN3_8B, "qwen3-8b"),
        (_QWEN3_30B, "qwen3-30b-a3b"),
        (_GPT_OSS_20B, "gpt-oss-20b"),
        (_LLAMA4_SCOUT, "llama4-scout"),
        (_GLM45, "glm-4.5"),
        (_KIMI, "kimi-k2"),
        (_NEMOTRON_15B, "nemotron4-15b"),
        (_MPT_7B, "mpt-7b"),
    ],
)
def test_configs_make_the_cards_by_name(tmp_path: Path, config: dict[str, object], name: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    card, named = read_card(path), MODELS[name]
    assert replace(
        card, name=named.name, summary=named.summary, source=named.source, sequence=named.sequence, assumed=()
    ) == replace(named)


def test_what_a_config_does_not_say_is_assumed_and_said(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**_GLM45, "unknown_field": {"a": [1]}, "head_dim": None}))
    assert read_card(path).assumed == (
        "head_dim is not given: hidden_size / num_attention_heads",
        "1 layers of multi-token prediction are left out",
    )


def test_a_window_ends_the_attention_to_what_is_before_it() -> None:
    card = replace(MODELS["gpt-oss-20b"], sequence=1024)
    assert [card.is_windowed(layer) for layer in range(4)] == [True, False, True, False]
    # Token t sees min(t + 1, 128) tokens, in the other layers t + 1.
    assert card.attended(True, causal=True) == sum(min(token + 1, 128) for token in range(1024))
    assert card.attended(False, causal=True) == 1024 * 1025 // 2
    scout = replace(MODELS["llama4-scout"], sequence=20000)
    assert scout.attended(True, causal=True) == sum(token % 8192 + 1 for token in range(20000))
    assert scout.attended(False, causal=True) == 20000 * 20001 // 2


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (_LLAMA3_8B, 8_030_261_248),
        (_MIXTRAL, 46_702_792_704),
        (_QWEN, 7_615_616_512),  # Qwen2.5-7B's published weights
        (_DEEPSEEK, 671_026_419_200),  # 671 B, as its paper says
    ],
)
def test_configs_of_published_weights(tmp_path: Path, config: dict[str, object], parameters: int) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert read_card(path).num_parameters == parameters


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mamba"}, "model_type 'mamba' is not supported"),
        ({"num_hidden_layers": "many"}, "num_hidden_layers"),
        ({"num_attention_heads": None}, "num_attention_heads"),
        (
            {"model_type": "gpt_oss", "sliding_window": 8, "layer_types": ["full_attention", "odd"]},
            "layer 1 is 'odd'; expected",
        ),
        ({"hidden_size": 0}, "hidden is 0; it must be 1 to"),
        ({"num_hidden_layers": 10**12}, "layers is 1000000000000; it must be 1 to 65536"),
        ({"num_key_value_heads": 5}, "cannot share 5 key/value heads"),
        ({"num_local_experts": 4, "num_experts_per_tok": 5}, "cannot go to 5 of 4"),
    ],
)
def test_impossible_configs_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**_LLAMA3_8B, **change}))
    with pytest.raises(HocketError, match=message):
        read_card(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first_k_dense_replace": 65}, "layers without experts is 65; it must be 0 to 61"),
        ({"first_k_dense_replace": -1}, "layers without experts is -1"),
        ({"n_shared_experts": -2}, "shared experts is -2"),
        ({"moe_intermediate_size": 0}, "the experts' ffn is 0"),
        ({"kv_lora_rank": -3}, "the latent attention's key_value_rank is -3"),
        ({"v_head_dim": 0}, "the latent attention's value_dim is 0"),
    ],
)
def test_impossible_experts_and_latents_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**_DEEPSEEK, **change}))
    with pytest.raises(HocketError, match=message):
        read_card(path)


@given(content=st.binary(max_size=60) | st.builds(
    lambda base, key, value: json.dumps({**base, key: value}).encode(),
    st.sampled_from([_LLAMA3_8B, _DEEPSEEK, _MIXTRAL]),
    st.sampled_from(sorted(_DEEPSEEK)),
    st.none() | st.integers(-3, 300) | st.text(max_size=3) | st.floats(allow_nan=False, allow_infinity=False),
))  # fmt: skip
def test_any_file_is_a_card_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any_config.json"
    path.write_bytes(content)
    try:
        card = read_card(path)
    except HocketError:
        return
    assert isinstance(card, ModelCard)
    assert card.num_parameters > 0


def test_a_longer_sequence_costs_only_attention() -> None:
    card = MODELS["llama3-8b"]
    longer = replace(card, sequence=2 * card.sequence)
    # For one token: 2 layers' worth of products (scores and values), 2 operations each, over 8192 more tokens.
    assert longer.forward_flops(1) - card.forward_flops(1) == 32 * 2 * 2 * 8192 * 32 * 128
