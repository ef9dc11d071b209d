"""GNMT: Wu et al., "Google's neural machine translation system", 2016, arXiv:1609.08144: 8 encoder layers, of which
the first is bidirectional, and 8 decoder layers of 1024 LSTM cells, the attention's context an input of each decoder
layer; 32,000 word pieces on both sides."""

from hocket.workload.architecture import Architecture, Block
from hocket.workload.presets.preset import NetworkPreset

__all__ = ["PRESETS", "gnmt"]

_CELLS = 1024
_WORDS = 32_000
_LAYERS = 8
_TOKENS = 32


def gnmt() -> Architecture:
    """A layer for each LSTM layer, the embeddings, the attention and the classifier of words."""
    encoder = [_lstm("encoder1", _CELLS, directions=2), _lstm("encoder2", 2 * _CELLS)]
    encoder += [_lstm(f"encoder{at}", _CELLS) for at in range(3, _LAYERS + 1)]
    decoder = [_lstm(f"decoder{at}", 2 * _CELLS) for at in range(1, _LAYERS + 1)]
    return Architecture(
        title="GNMT",
        source="Wu et al. 2016",
        blocks=(
            _embedding("source embedding"),
            *encoder,
            _embedding("target embedding"),
            decoder[0],
            _attention(),
            *decoder[1:],
            _classifier(),
        ),
        batch=128,
        sample=f"a pair of sentences of {_TOKENS} tokens",
        update_bytes=28,  # Adam in 4-byte numbers: reads gradient, weight, two moments; writes three of them
    )


def _embedding(name: str) -> Block:
    return Block(name, _WORDS * _CELLS, 0, _TOKENS * _CELLS, _TOKENS * _CELLS, read=0)


def _lstm(name: str, inputs: int, directions: int = 1) -> Block:
    """Four gates, each of a matrix over input and state, and a bias; `directions` such layers side by side."""
    matrices = 4 * _CELLS * (inputs + _CELLS) * directions
    biases = 4 * _CELLS * directions
    return Block(name, matrices + biases, 2 * matrices * _TOKENS, inputs * _TOKENS, _CELLS * directions * _TOKENS)


def _attention() -> Block:
    """Additive attention: two projections and a vector of scores; every target token looks at every source token."""
    matrices = 2 * _CELLS * _CELLS
    flops = 2 * matrices * _TOKENS + 4 * _CELLS * _TOKENS * _TOKENS
    return Block("attention", matrices + _CELLS, flops, 2 * _TOKENS * _CELLS, _TOKENS * _CELLS)


def _classifier() -> Block:
    weights = _CELLS * _WORDS
    return Block("classifier", weights + _WORDS, 2 * weights * _TOKENS, _TOKENS * _CELLS, _TOKENS * _WORDS)


PRESETS = (
    NetworkPreset(
        gnmt,
        "278 M (arXiv:1701.06538)",
        name="gnmt",
        summary="translation by recurrent layers",
        source="Wu et al. 2016, arXiv:1609.08144",
        example="hocket generate network gnmt --ranks 8 -o traces/",
    ),
)
