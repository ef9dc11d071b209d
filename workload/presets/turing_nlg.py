"""Turing-NLG: Rosset, "Turing-NLG: a 17-billion-parameter language model by Microsoft", 2020: 78 layers, 4256 wide, 28
heads, 1024 tokens, 4 model-parallel GPUs; the vocabulary is taken to be GPT-2's, 50,257 tokens."""

from hocket.workload.architecture import Architecture
from hocket.workload.presets.attention import attention, embedding, feed_forward, output_head
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "turing_nlg"]

_LAYERS = 78
_HIDDEN = 4256
_HEADS = 28
_WORDS = 50_257
_TOKENS = 1024


def turing_nlg() -> Architecture:
    """A layer for each attention and feed-forward block."""
    blocks = [embedding("embedding", _WORDS, _HIDDEN, _TOKENS, positions=_TOKENS)]
    for at in range(1, _LAYERS + 1):
        blocks.append(attention(f"layer{at} attention", _HIDDEN, _TOKENS))
        blocks.append(feed_forward(f"layer{at} feed-forward", _HIDDEN, 4 * _HIDDEN, _TOKENS))
    return Architecture(
        title="Turing-NLG",
        source="Rosset 2020",
        blocks=(*blocks, output_head("output head", _WORDS, _HIDDEN, _TOKENS)),
        batch=8,  # 512 sequences on 256 GPUs, 4 of them a replica
        sample=f"a sequence of {_TOKENS} tokens",
        update_bytes=28,  # Adam in 4-byte numbers
        heads=_HEADS,
    )


PRESETS = (
    NetworkPreset(
        turing_nlg,
        "17 G",
        name="turing-nlg",
        summary="a transformer of 78 layers",
        source="Rosset 2020",
        example="hocket generate network turing-nlg --ranks 8 -o traces/",
    ),
)
