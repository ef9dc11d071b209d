"""Which symmetries a topology may have: its ranks as the points of a box."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from hocket.schedule import Motion, Symmetry
from hocket.schedule.link_symmetry import LinkSymmetry
from hocket.topology import Topology

__all__ = ["candidate_symmetries", "mirror_symmetry"]

# Of a topology without dimensions so many strides are tried, in every combination: each costs a look at all links.
_MOST_STRIDES = 5
_MOST_FLIPS = 6  # what hocket/synthesizer/rounds/orbits.hpp takes


def candidate_symmetries(topology: Topology) -> Iterator[Symmetry]:
    """Guesses, the likeliest first; whether a topology has the symmetry is for the engine to check, link by link.

    Of a product it is the box of its dimensions, in which lines with two ends do not shift. Else the numbers of ranks
    may show it: those in a machine, and the distances from rank 0 to the ranks that it has links to, which in a box are
    strides.
    """
    if topology.dimensions:
        motions = [
            Motion.STAY if side.kind == "mesh" and side.size > 2 else Motion.SHIFT for side in topology.dimensions
        ]
        yield Symmetry(tuple(side.size for side in topology.dimensions), tuple(motions))
        return
    ranks = topology.num_ranks
    linked = np.unique(topology.dst[topology.links_out_of.of(0)])
    machines = int(topology.machine.max()) + 1
    strides = {int(rank) for rank in linked if 1 < rank < ranks and ranks % rank == 0}
    if machines > 1 and ranks % machines == 0:
        strides.add(ranks // machines)
    chosen = sorted(strides)[:_MOST_STRIDES]
    for count in range(len(chosen), -1, -1):
        for steps in combinations(chosen, count):
            edges = (1, *steps, ranks)
            if all(after % before == 0 for before, after in pairwise(edges)):
                yield Symmetry.shifts(*(after // before for before, after in pairwise(edges)))


def mirror_symmetry(topology: Topology) -> Symmetry:
    """The mirrors of the topology's even dimensions, where its links have them; else nothing."""
    motions: list[Motion] = []
    for dimension in topology.dimensions:
        even = dimension.size % 2 == 0 and motions.count(Motion.FLIP) < _MOST_FLIPS
        motions.append(Motion.FLIP if even else Motion.STAY)
    symmetry = Symmetry(tuple(dimension.size for dimension in topology.dimensions), tuple(motions))
    return symmetry if LinkSymmetry.of(symmetry, topology) is not None else Symmetry()
