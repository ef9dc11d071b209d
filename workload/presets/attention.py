"""The two halves of a transformer layer, each with its layer normalization, split as in Megatron-LM."""

from hocket.workload.architecture import Block, Split

__all__ = ["attention", "embedding", "feed_forward", "output_head"]


def attention(name: str, hidden: int, tokens: int) -> Block:
    """Queries, keys, values and output projection with biases; scores and their sums over `tokens` tokens."""
    matrices = 4 * hidden * hidden
    flops = 2 * matrices * tokens + 4 * hidden * tokens * tokens
    return Block(name, matrices + 4 * hidden + 2 * hidden, flops, hidden * tokens, hidden * tokens, Split.SUMS)


def feed_forward(name: str, hidden: int, inner: int, tokens: int) -> Block:
    """Two matrices with biases."""
    matrices = 2 * hidden * inner
    parameters = matrices + inner + hidden + 2 * hidden
    return Block(name, parameters, 2 * matrices * tokens, hidden * tokens, hidden * tokens, Split.SUMS)


def embedding(name: str, words: int, hidden: int, tokens: int, positions: int = 0) -> Block:
    """A row of `words` for each token, and `positions` learned positions."""
    return Block(name, (words + positions) * hidden, 0, hidden * tokens, hidden * tokens, Split.SUMS, read=0)


def output_head(name: str, words: int, hidden: int, tokens: int) -> Block:
    """The classifier of words, whose weights are the embedding's.

    Each model-parallel rank computes and keeps the scores of its own words; only sums per token are exchanged, which
    are left out.
    """
    flops = 2 * words * hidden * tokens
    return Block(name, 0, flops, hidden * tokens, words * tokens, Split.KEPT, read=words * hidden)
