"""One dimension after the other, for topologies that are a product (or machines with as many ranks each).

reduce_scatter goes through the dimensions from the first to the last with ever smaller buffers, all_gather comes back:
lower dimensions carry more bytes, upper ones S over the ranks below them. Rings where the links are rings, everybody to
everybody where a switch or a full mesh joins a line. all_reduce: 2 sum(n_d - 1) steps, 2S(n-1)/n leaves each rank;
reduce_scatter and all_gather: one half of that each. all_to_all: in dimension d a block gets to its destination's
coordinate d; sum(n_d - 1) steps, S sum(1 - 1/n_d) leaves each rank. (ASTRA-sim's hierarchical collectives.)
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from hocket.schedule.algorithms.dimensions import by_dimension
from hocket.schedule.algorithms.direct import over_line
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.owners import by_owners
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.ring import ring
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.symmetry import Symmetry

__all__ = ["NATIVE", "hierarchical"]


_LINE_MOVES = {"ring": ring, "mesh": ring, "fully_connected": over_line, "switch": over_line}


def hierarchical(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of the topology with two dimensions or more."""
    lines = place.two_lines("hierarchical")
    f, sizes = collective.chunks_per_rank, [line.size for line in lines]
    if collective.cut_whole:
        return by_owners(collective, sizes[-1], at_once=False)
    if collective.kind is Kind.ALL_TO_ALL:
        return _all_to_all(sizes, f)
    line_moves = [_LINE_MOVES[line.kind] for line in lines]
    return by_dimension(collective.kind, sizes, range(len(sizes)), line_moves).in_pieces(f, np.arange(f))


def _all_to_all(sizes: Sequence[int], f: int) -> Moves:
    target, stride, phases = np.arange(np.prod(sizes)), 1, []  # of the blocks of rank 0
    for size in sizes:
        ahead = target // stride % size
        go = target[ahead > 0][:, None]
        step, at, to = ahead[go] - 1, go % stride, go % (stride * size)
        chunk = go * f + np.arange(f)
        phases.append(Moves.of(step, at, to, chunk, reduce=False, symmetry=Symmetry.shifts(*sizes)))
        stride *= size
    return reduce(Moves.then, phases)


NATIVE = (
    NativeAlgorithm(
        name="hierarchical",
        summary="BlueConnect: one dimension after the other, and back",
        source="Cho et al., BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy,"
        " MLSys 2019",
        needs="two dimensions or more, or machines",
        forms=(
            Form((Kind.ALL_REDUCE,), "2 sum(n_d - 1)", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "sum(n_d - 1)", "S(n-1)/n"),
            Form((Kind.ALL_TO_ALL,), "sum(n_d - 1)", "S sum(1 - 1/n_d)"),
        ),
        moves=hierarchical,
        cuts_whole=True,
        require=lambda place: place.two_lines("hierarchical"),
    ),
)
