"""Transformer (big): Vaswani et al., "Attention is all you need", NeurIPS 2017, arXiv:1706.03762: 6 + 6 layers, 1024
wide, 4096 inside, 16 heads; 37,000 tokens shared by both languages, and by embeddings and classifier."""

from hocket.workload.architecture import Architecture
from hocket.workload.presets.attention import attention, embedding, feed_forward, output_head
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "transformer"]

_LAYERS = 6
_HIDDEN = 1024
_INNER = 4096
_HEADS = 16
_WORDS = 37_000
_TOKENS = 32


def transformer() -> Architecture:
    """A layer for each attention and feed-forward block; positions are computed, not learned."""
    blocks = [embedding("embedding", _WORDS, _HIDDEN, _TOKENS)]
    for at in range(1, _LAYERS + 1):
        blocks.append(attention(f"encoder{at} attention", _HIDDEN, _TOKENS))
        blocks.append(feed_forward(f"encoder{at} feed-forward", _HIDDEN, _INNER, _TOKENS))
    for at in range(1, _LAYERS + 1):
        blocks.append(attention(f"decoder{at} attention", _HIDDEN, _TOKENS))
        blocks.append(attention(f"decoder{at} cross-attention", _HIDDEN, _TOKENS))
        blocks.append(feed_forward(f"decoder{at} feed-forward", _HIDDEN, _INNER, _TOKENS))
    return Architecture(
        title="Transformer (big)",
        source="Vaswani et al. 2017",
        blocks=(*blocks, output_head("output head", _WORDS, _HIDDEN, _TOKENS)),
        batch=96,  # 25,000 source and as many target tokens on 8 GPUs
        sample=f"a pair of sentences of {_TOKENS} tokens",
        update_bytes=28,  # Adam in 4-byte numbers
        heads=_HEADS,
    )


PRESETS = (
    NetworkPreset(
        transformer,
        "213 M",
        name="transformer",
        summary="translation by attention",
        source="Vaswani et al. 2017, arXiv:1706.03762, big",
        example="hocket generate network transformer --ranks 8 -o traces/",
    ),
)
