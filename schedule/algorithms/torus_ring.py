"""Rings along every dimension of a torus (or mesh) at once: the 2-D ring, also known as the bucket algorithm.

Chunk k of a rank goes through the dimensions in turn, starting with dimension k mod d, and around them the other way in
every other such round: with 2d chunks per rank all links of a d-dimensional torus work all the time. all_reduce: 2
sum(n_d - 1) steps, 2S(n-1)/n leaves each rank; reduce_scatter and all_gather: one half of that each. On one dimension
it is two rings in opposite directions.
"""

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.dimensions import by_dimension
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.place import Line, Place
from hocket.schedule.algorithms.ring import backwards, ring
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "torus_ring"]


def torus_ring(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of a topology of rings and meshes."""
    lines = _lines(place)
    f, d, sizes = collective.chunks_per_rank, len(lines), [line.size for line in lines]
    parts = []
    for variant in range(min(f, 2 * d)):
        line_moves = [backwards if variant >= d else ring] * d
        order = np.roll(range(d), -(variant % d)).tolist()
        moves = by_dimension(collective.kind, sizes, order, line_moves)
        parts.append(moves.in_pieces(f, np.arange(variant, f, 2 * d)))
    return Moves.together(*parts)


def _lines(place: Place) -> tuple[Line, ...]:
    lines = place.lines("torus_ring")
    if not all(line.kind in ("ring", "mesh") for line in lines):
        raise ScheduleError(f"torus_ring needs rings or meshes, not {place.topology.name}; use hierarchical or ring")
    return lines


NATIVE = (
    NativeAlgorithm(
        name="torus_ring",
        summary='2d rings ("bucket") along all of d dimensions at once',
        source="Jain and Sabharwal, Optimal bucket algorithms for large MPI collectives on torus interconnects, 2010",
        needs="rings or meshes in all dimensions",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 sum(n_d - 1)", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "sum(n_d - 1)", "S(n-1)/n"),
        ),
        moves=torus_ring,
        require=_lines,
        example="torus:2x2,bandwidth=50GB/s,latency=500ns",
    ),
)
