"""Cards of published models."""

from dataclasses import replace

from hocket.base.registry import Registry
from hocket.workload.llm.card import Experts, LatentAttention, ModelCard, Window

__all__ = ["MODELS"]

_GPT3 = "Brown et al., Language Models are Few-Shot Learners, arXiv:2005.14165, table 2.1"
_LLAMA2 = "Touvron et al., Llama 2, arXiv:2307.09288, and the published config.json"
_LLAMA3 = "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 3"
_LLAMA4 = "the published config.json of meta-llama, the text model"
_MIXTRAL = "Jiang et al., Mixtral of Experts, arXiv:2401.04088, table 1"
_QWEN3 = "Yang et al., Qwen3 Technical Report, arXiv:2505.09388, tables 1 and 2, and the published config.json"
_GPT_OSS = "OpenAI, gpt-oss-120b and gpt-oss-20b Model Card, arXiv:2508.10925, and the published config.json"
_DEEPSEEK_V3 = "DeepSeek-AI, DeepSeek-V3, arXiv:2412.19437, section 4.2, without multi-token prediction"
_KIMI = "Kimi Team, Kimi K2, arXiv:2507.20534, table 2, and the published config.json"
_GLM = "GLM-4.5 Team, GLM-4.5, arXiv:2508.06471, table 1, and the published config.json, without multi-token prediction"
_NEMOTRON = "NVIDIA, Nemotron-4 340B Technical Report, arXiv:2406.11704, table 1; Nemotron-4 15B, arXiv:2402.16819"
_MPT = "MosaicML, llm-foundry, scripts/train/yamls/pretrain"

# fmt: off
_GPT3_175B = ModelCard(
    name="gpt3-175b", summary="GPT-3",
    layers=96, hidden=12288, heads=96, key_value_heads=96, head_dim=128, ffn=4 * 12288,
    vocabulary=50257, sequence=2048, gated=False, layer_norm=True, biases=True, positions=2048, tied_embeddings=True,
    source=_GPT3,
)
_LLAMA2_7B = ModelCard(
    name="llama2-7b", summary="Llama 2",
    layers=32, hidden=4096, heads=32, key_value_heads=32, head_dim=128, ffn=11008,
    vocabulary=32000, sequence=4096, source=_LLAMA2,
)
_LLAMA2_13B = replace(_LLAMA2_7B, name="llama2-13b", layers=40, hidden=5120, heads=40, key_value_heads=40, ffn=13824)
_LLAMA2_70B = ModelCard(
    name="llama2-70b", summary="Llama 2, grouped queries",
    layers=80, hidden=8192, heads=64, key_value_heads=8, head_dim=128, ffn=28672,
    vocabulary=32000, sequence=4096, source=_LLAMA2,
)
_LLAMA3_8B = ModelCard(
    name="llama3-8b", summary="Llama 3 and 3.1",
    layers=32, hidden=4096, heads=32, key_value_heads=8, head_dim=128, ffn=14336,
    vocabulary=128256, sequence=8192, source=_LLAMA3,
)
_LLAMA3_70B = replace(_LLAMA3_8B, name="llama3-70b", layers=80, hidden=8192, heads=64, ffn=28672)
_LLAMA3_405B = replace(_LLAMA3_8B, name="llama3-405b", layers=126, hidden=16384, heads=128, ffn=53248)
_LLAMA4_SCOUT = ModelCard(
    name="llama4-scout", summary="16 experts, 1 per token, and a shared one; chunked attention in 3 of 4 layers",
    layers=48, hidden=5120, heads=40, key_value_heads=8, head_dim=128, ffn=16384,
    vocabulary=202048, sequence=8192, source=_LLAMA4,
    experts=Experts(count=16, top_k=1, ffn=8192, shared=1), window=Window(8192, full_every=4, chunked=True),
)
_LLAMA4_MAVERICK = replace(
    _LLAMA4_SCOUT, name="llama4-maverick", summary="128 experts, 1 per token, in every other layer, and a shared one",
    experts=Experts(count=128, top_k=1, ffn=8192, shared=1, every=2),
)
_MIXTRAL_8X7B = ModelCard(
    name="mixtral-8x7b", summary="a mixture of 8 experts, 2 per token",
    layers=32, hidden=4096, heads=32, key_value_heads=8, head_dim=128, ffn=14336,
    vocabulary=32000, sequence=4096, experts=Experts(count=8, top_k=2, ffn=14336), source=_MIXTRAL,
)
_MIXTRAL_8X22B = replace(
    _MIXTRAL_8X7B, name="mixtral-8x22b", layers=56, hidden=6144, heads=48, ffn=16384, vocabulary=32768,
    experts=Experts(count=8, top_k=2, ffn=16384), source="the published config.json of mistralai/Mixtral-8x22B-v0.3",
)
_QWEN3_8B = ModelCard(
    name="qwen3-8b", summary="Qwen3",
    layers=36, hidden=4096, heads=32, key_value_heads=8, head_dim=128, ffn=12288,
    vocabulary=151936, sequence=4096, head_norms=True, source=_QWEN3,
)
_QWEN3_32B = replace(_QWEN3_8B, name="qwen3-32b", layers=64, hidden=5120, heads=64, ffn=25600)
_QWEN3_30B = replace(
    _QWEN3_8B, name="qwen3-30b-a3b", summary="128 experts, 8 per token", layers=48, hidden=2048, key_value_heads=4,
    ffn=6144, experts=Experts(count=128, top_k=8, ffn=768),
)
_QWEN3_235B = replace(
    _QWEN3_30B, name="qwen3-235b-a22b", layers=94, hidden=4096, heads=64, ffn=12288,
    experts=Experts(count=128, top_k=8, ffn=1536),
)
_GPT_OSS_20B = ModelCard(
    name="gpt-oss-20b", summary="32 experts, 4 per token; a window in every other layer",
    layers=24, hidden=2880, heads=64, key_value_heads=8, head_dim=64, ffn=2880,
    vocabulary=201088, sequence=4096, attention_biases=True, projection_bias=True, sinks=True,
    experts=Experts(count=32, top_k=4, ffn=2880, router_bias=True, biases=True), window=Window(128, full_every=2),
    source=_GPT_OSS,
)
_GPT_OSS_120B = replace(
    _GPT_OSS_20B, name="gpt-oss-120b", summary="128 experts, 4 per token; a window in every other layer", layers=36,
    experts=Experts(count=128, top_k=4, ffn=2880, router_bias=True, biases=True),
)
_DEEPSEEK = ModelCard(
    name="deepseek-v3", summary="256 experts, 8 per token; latent attention",
    layers=61, hidden=7168, heads=128, key_value_heads=128, head_dim=128, ffn=18432,
    vocabulary=129280, sequence=4096, source=_DEEPSEEK_V3,
    experts=Experts(count=256, top_k=8, ffn=2048, shared=1, dense_layers=3, router_bias=True),
    latent=LatentAttention(query_rank=1536, key_value_rank=512, plain_dim=128, rotary_dim=64, value_dim=128),
)
_KIMI_K2 = replace(
    _DEEPSEEK, name="kimi-k2", summary="384 experts, 8 per token; latent attention", heads=64, key_value_heads=64,
    head_dim=112,
    vocabulary=163840, experts=Experts(count=384, top_k=8, ffn=2048, shared=1, dense_layers=1, router_bias=True),
    source=_KIMI,
)
_GLM45 = ModelCard(
    name="glm-4.5", summary="GLM-4.5 and 4.6: 160 experts, 8 per token",
    layers=92, hidden=5120, heads=96, key_value_heads=8, head_dim=128, ffn=12288,
    vocabulary=151552, sequence=4096, attention_biases=True, head_norms=True,
    experts=Experts(count=160, top_k=8, ffn=1536, shared=1, dense_layers=3, router_bias=True), source=_GLM,
)
_NEMOTRON_15B = ModelCard(
    name="nemotron4-15b", summary="Nemotron-4, squared ReLU",
    layers=32, hidden=6144, heads=48, key_value_heads=8, head_dim=128, ffn=24576,
    vocabulary=256000, sequence=4096, gated=False, layer_norm=True, source=_NEMOTRON,
)
_NEMOTRON_340B = replace(
    _NEMOTRON_15B, name="nemotron4-340b", layers=96, hidden=18432, heads=96, head_dim=192, ffn=73728,
)
_MPT_7B = ModelCard(
    name="mpt-7b", summary="MPT, no biases",
    layers=32, hidden=4096, heads=32, key_value_heads=32, head_dim=128, ffn=16384,
    vocabulary=50432, sequence=2048, gated=False, tied_embeddings=True, source=_MPT,
)
_MPT_13B = replace(_MPT_7B, name="mpt-13b", layers=40, hidden=5120, heads=40, key_value_heads=40, ffn=20480)
_MPT_30B = replace(_MPT_7B, name="mpt-30b", layers=48, hidden=7168, heads=64, key_value_heads=64, head_dim=112,
                   ffn=28672)
_MPT_70B = replace(_MPT_7B, name="mpt-70b", layers=80, hidden=8192, heads=64, key_value_heads=64, ffn=32768)
# fmt: on

MODELS = Registry(
    "model",
    (
        *(_GPT3_175B, _LLAMA2_7B, _LLAMA2_13B, _LLAMA2_70B, _LLAMA3_8B, _LLAMA3_70B, _LLAMA3_405B),
        *(_LLAMA4_SCOUT, _LLAMA4_MAVERICK, _MIXTRAL_8X7B, _MIXTRAL_8X22B),
        *(_QWEN3_8B, _QWEN3_32B, _QWEN3_30B, _QWEN3_235B, _GPT_OSS_20B, _GPT_OSS_120B),
        *(_DEEPSEEK, _KIMI_K2, _GLM45, _NEMOTRON_15B, _NEMOTRON_340B, _MPT_7B, _MPT_13B, _MPT_30B, _MPT_70B),
    ),
)
