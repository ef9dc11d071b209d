"""Cards of published models."""

from hocket.base.registry import Registry
from hocket.workload.llm.card import Experts, LatentAttention, ModelCard

__all__ = ["MODELS"]

_GPT3 = "Brown et al., Language Models are Few-Shot Learners, arXiv:2005.14165, table 2.1"
_LLAMA2 = "Touvron et al., Llama 2, arXiv:2307.09288, and the published config.json"
_LLAMA3 = "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 3"
_MIXTRAL = "Jiang et al., Mixtral of Experts, arXiv:2401.04088, table 1"
_DEEPSEEK_V3 = "DeepSeek-AI, DeepSeek-V3, arXiv:2412.19437, section 4.2, without multi-token prediction"

_GPT3_175B = ModelCard(
    name="gpt3-175b", summary="GPT-3",
    layers=96, hidden=12288, heads=96, key_value_heads=96, head_dim=128, ffn=4 * 12288,
    vocabulary=50257, sequence=2048, gated=False, layer_norm=True, biases=True, positions=2048, tied_embeddings=True,
    source=_GPT3,
)  # fmt: skip
_LLAMA2_7B = ModelCard(
    name="llama2-7b", summary="Llama 2",
    layers=32, hidden=4096, heads=32, key_value_heads=32, head_dim=128, ffn=11008,
    vocabulary=32000, sequence=4096, source=_LLAMA2,
)  # fmt: skip
_LLAMA2_70B = ModelCard(
    name="llama2-70b", summary="Llama 2, grouped queries",
    layers=80, hidden=8192, heads=64, key_value_heads=8, head_dim=128, ffn=28672,
    vocabulary=32000, sequence=4096, source=_LLAMA2,
)  # fmt: skip
_LLAMA3_8B = ModelCard(
    name="llama3-8b", summary="Llama 3",
    layers=32, hidden=4096, heads=32, key_value_heads=8, head_dim=128, ffn=14336,
    vocabulary=128256, sequence=8192, source=_LLAMA3,
)  # fmt: skip
_LLAMA3_70B = ModelCard(
    name="llama3-70b", summary="Llama 3",
    layers=80, hidden=8192, heads=64, key_value_heads=8, head_dim=128, ffn=28672,
    vocabulary=128256, sequence=8192, source=_LLAMA3,
)  # fmt: skip
_LLAMA3_405B = ModelCard(
    name="llama3-405b", summary="Llama 3",
    layers=126, hidden=16384, heads=128, key_value_heads=8, head_dim=128, ffn=53248,
    vocabulary=128256, sequence=8192, source=_LLAMA3,
)  # fmt: skip
_MIXTRAL_8X7B = ModelCard(
    name="mixtral-8x7b", summary="a mixture of 8 experts, 2 a token",
    layers=32, hidden=4096, heads=32, key_value_heads=8, head_dim=128, ffn=14336,
    vocabulary=32000, sequence=4096, experts=Experts(count=8, top_k=2, ffn=14336), source=_MIXTRAL,
)  # fmt: skip
_DEEPSEEK = ModelCard(
    name="deepseek-v3", summary="256 experts, 8 a token; latent attention",
    layers=61, hidden=7168, heads=128, key_value_heads=128, head_dim=128, ffn=18432,
    vocabulary=129280, sequence=4096, source=_DEEPSEEK_V3,
    experts=Experts(count=256, top_k=8, ffn=2048, shared=1, dense_layers=3, router_bias=True),
    latent=LatentAttention(query_rank=1536, key_value_rank=512, plain_dim=128, rotary_dim=64, value_dim=128),
)  # fmt: skip

MODELS = Registry(
    "model",
    (_GPT3_175B, _LLAMA2_7B, _LLAMA2_70B, _LLAMA3_8B, _LLAMA3_70B, _LLAMA3_405B, _MIXTRAL_8X7B, _DEEPSEEK),
)
