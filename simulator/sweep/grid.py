"""All combinations of what a sweep varies."""

from collections.abc import Sequence
from itertools import product

from hocket.simulator.sweep.point import Point

__all__ = ["grid"]


def grid(
    topologies: Sequence[str],
    collectives: Sequence[str],
    sizes: Sequence[int],
    algorithms: Sequence[str] = ("auto",),
    models: Sequence[str] = ("congestion",),
    switchings: Sequence[str] = ("cut_through",),
    queueings: Sequence[str] = ("fifo",),
    chunks_per_rank: Sequence[int] = (1,),
    roots: Sequence[int] = (0,),
) -> list[Point]:
    """Every combination once; the sizes (bytes) vary fastest."""
    outer = product(topologies, collectives, algorithms, models, switchings, queueings, chunks_per_rank, roots)
    return [
        Point(topology, collective, size, algorithm, model, switching, queueing, chunks, root)
        for topology, collective, algorithm, model, switching, queueing, chunks, root in outer
        for size in sizes
    ]
