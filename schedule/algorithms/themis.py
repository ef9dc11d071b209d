"""Themis: every chunk goes through the dimensions in an order of its own, so that all dimensions are equally busy.

A load per dimension is kept: its latency, and the time that it needs for the chunks so far. The next chunk's
reduce_scatter starts in the dimension with the least load, where it is largest, and ends in that with the most; its
all_gather comes back. While the loads differ by less than a sixteenth of a chunk the order is that of `hierarchical`.
In a dimension the shortest step that waits goes first, in an order worked out beforehand, which all ranks follow. Here
chunk k is piece k of every rank's chunks, and every other piece goes around rings the other way: use many chunks per
rank. Bytes as `hierarchical`; the steps depend on how the pieces overlap, at least sum(n_d - 1) over rings plus one for
each other dimension; all_reduce: twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.dimensions import LineMoves, along_lines, phases
from hocket.schedule.algorithms.direct import over_line
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.pipeline import Stage, shortest_first
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.ring import backwards, ring
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE", "themis"]


_PICOSECONDS = 10**12
_FINE = 16  # loads that differ by less than this part of a chunk count as equal


@dataclass(frozen=True, slots=True)
class _Dimension:
    """One dimension's lines: how they do a half of an all_reduce, and how long their busiest link takes for it."""

    size: int
    kind: str
    latency_ps: int
    bandwidth: int

    @property
    def steps(self) -> int:
        """Steps that wait for each other."""
        return self.size - 1 if self.kind in ("ring", "mesh") else 1

    def moves(self, way: int) -> LineMoves:
        if self.steps == 1:
            return over_line
        return backwards if way else ring

    def step_ps(self, bytes: int) -> int:
        """Serialization of one step of a half that starts (reduce_scatter) or ends with `bytes` at each rank."""
        messages = self.size - 1 if self.kind == "switch" else 1
        return -(-bytes * messages * _PICOSECONDS // (self.size * self.bandwidth))

    def resource(self, number: int, way: int) -> int:
        """What it keeps busy: only a ring has other links for the other way around."""
        return 2 * number + (way if self.kind == "ring" else 0)


def themis(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks fill a box of the topology with two dimensions or more."""
    lines = place.two_lines("themis")
    strides = np.cumprod([1, *(line.size for line in lines)])[:-1]
    dimensions = [
        _Dimension(line.size, line.kind, *place.way(0, stride)) for line, stride in zip(lines, strides, strict=True)
    ]
    n, f = collective.num_ranks, collective.chunks_per_rank
    bytes = collective.chunk_bytes.reshape(n, f).sum(axis=0).tolist()
    orders = _balanced(dimensions, bytes)
    halves = phases(collective.kind, len(dimensions))
    jobs = [_stages(dimensions, halves, order, piece % 2, bytes[piece]) for piece, order in enumerate(orders)]
    return _moves(dimensions, halves, orders, shortest_first(jobs))


def _balanced(dimensions: Sequence[_Dimension], bytes: Sequence[int]) -> list[tuple[int, ...]]:
    """Each piece's order of dimensions; `bytes` of each piece."""
    load = {
        dimension.resource(number, way): dimension.steps * dimension.latency_ps
        for number, dimension in enumerate(dimensions)
        for way in (0, 1)
    }
    orders = []
    for piece, size in enumerate(bytes):
        resource = [dimension.resource(number, piece % 2) for number, dimension in enumerate(dimensions)]
        order = sorted(range(len(dimensions)), key=lambda number: load[resource[number]])
        idlest = dimensions[order[0]]
        if load[resource[order[-1]]] - load[resource[order[0]]] < idlest.steps * idlest.step_ps(size // _FINE):
            order.sort()
        for number in order:
            load[resource[number]] += dimensions[number].steps * dimensions[number].step_ps(size)
            size //= dimensions[number].size
        orders.append(tuple(order))
    return orders


def _stages(
    dimensions: Sequence[_Dimension], halves: Sequence[tuple[Kind, int]], order: Sequence[int], way: int, bytes: int
) -> list[Stage]:
    """What a piece goes through."""
    before = np.cumprod([1, *(dimensions[number].size for number in order)])
    stages = []
    for _, position in halves:
        dimension = dimensions[order[position]]
        stages.append(
            Stage(
                dimension.resource(order[position], way),
                dimension.steps,
                dimension.step_ps(bytes // int(before[position])),
                dimension.latency_ps,
            )
        )
    return stages


def _moves(
    dimensions: Sequence[_Dimension],
    halves: Sequence[tuple[Kind, int]],
    orders: Sequence[tuple[int, ...]],
    starts: Sequence[Sequence[NDArray[np.int64]]],
) -> Moves:
    """The moves of all pieces, in the order in which their steps start."""
    sizes = [dimension.size for dimension in dimensions]
    line_moves = [[dimension.moves(way) for dimension in dimensions] for way in (0, 1)]
    instants, parts = [], []
    for variant in sorted({(order, piece % 2) for piece, order in enumerate(orders)}):
        order, way = variant
        pieces = [piece for piece, own in enumerate(orders) if (own, piece % 2) == variant]
        for phase, (half, position) in enumerate(halves):
            moves = along_lines(half, line_moves[way], sizes, order, position)
            begins = np.stack([starts[piece][phase] for piece in pieces])
            # Sends to all peers at once have a start in common; their own steps say in which order.
            instants.append(begins[:, np.minimum(moves.step, begins.shape[1] - 1)].T.ravel())
            parts.append(moves.in_pieces(len(orders), pieces))
    moves = Moves.together(*parts)
    start = np.unique(np.concatenate(instants), return_inverse=True)[1]
    return moves.at(np.unique(start * moves.num_steps + moves.step, return_inverse=True)[1])


NATIVE = (
    NativeAlgorithm(
        name="themis",
        summary="every chunk through the dimensions in its own order, so that all are equally busy",
        source="Rashidi et al., Themis: a network bandwidth-aware collective scheduling policy for distributed training"
        " of DL models, ISCA 2022",
        needs="two dimensions or more, or machines",
        forms=(
            Form((Kind.ALL_REDUCE,), "as hierarchical with one chunk; more overlap", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "as hierarchical with one chunk; more overlap", "S(n-1)/n"),
        ),
        moves=themis,
        require=lambda place: place.two_lines("themis"),
        by_size=True,
    ),
)
