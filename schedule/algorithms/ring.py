"""Rings in rank order: every rank talks to the next one only.

all_reduce: 2(n-1) steps, 2(n-1)/n of the buffer through each rank; reduce_scatter and all_gather: one half of that
each. broadcast and reduce: the chunks follow each other along the chain from or to the root, n-2 + f steps for f
chunks.
"""

import numpy as np

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, anywhere
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "backwards", "ring"]


def ring(collective: Collective) -> Moves:
    n, f = collective.num_ranks, collective.chunks_per_rank
    if collective.rooted:
        return _chain(n, f, collective.root, reduce=collective.reducing)
    step, k = np.arange(n - 1)[:, None], np.arange(f)
    around = Symmetry.shifts(n)
    scatter = Moves.of(step, 0, 1, (-1 - step) % n * f + k, reduce=True, symmetry=around)
    gather = Moves.of(step, 0, 1, -step % n * f + k, reduce=False, symmetry=around)
    if collective.kind is Kind.ALL_REDUCE:
        return scatter.then(gather)
    return scatter if collective.reducing else gather


def backwards(collective: Collective) -> Moves:
    """The ring the other way around, for collectives without a root and with one chunk per rank."""
    return ring(collective).relabelled(-np.arange(collective.num_ranks) % collective.num_ranks)


def _chain(n: int, f: int, root: int, *, reduce: bool) -> Moves:
    hop, chunk = np.arange(n - 1)[:, None], np.arange(f)
    first = root + hop + reduce  # a reduction starts at the rank after the root and ends at the root
    return Moves.of(hop + chunk, first % n, (first + 1) % n, chunk, reduce=reduce)


NATIVE = (
    NativeAlgorithm(
        name="ring",
        summary="every rank talks to the next one only, in rank order",
        source="Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009",
        forms=(
            Form((Kind.ALL_REDUCE,), "2(n-1)", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "n-1", "S(n-1)/n"),
            Form((Kind.BROADCAST, Kind.REDUCE), "n-2+f", "S", "a chain, chunks in a pipeline"),
        ),
        moves=anywhere(ring),
    ),
)
