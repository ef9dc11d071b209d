"""Barriers: everybody learns that everybody is there."""

from hocket.schedule import Chunk, Collective, Conditions

__all__ = ["barriers"]


def barriers(num_ranks: int) -> tuple[Collective, Collective]:
    """Two custom collectives of nothing but words: one that is combined over all ranks (few messages), and one word of
    each rank that all others hear (few hops)."""
    everyone = range(num_ranks)
    return (
        Collective.custom(num_ranks, Conditions.of(num_ranks, [Chunk(everyone, everyone, 0)])),
        Collective.custom(num_ranks, Conditions.of(num_ranks, [Chunk([rank], everyone, 0) for rank in everyone])),
    )
