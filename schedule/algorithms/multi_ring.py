"""Several rings at once, chunk k of a rank on ring k mod (number of rings).

On a ring: both directions. On a full mesh of n ranks: the phi(n) strides that visit all ranks. On a two-dimensional
torus: its two Hamiltonian cycles without a common link, in both directions. So far no two rings share a link. On
machines (or lines) whose ranks a switch or a full mesh joins: as many rings as ranks in a machine, each of which leaves
a machine through another rank (NCCL's channels). all_reduce: 2(n-1) steps, 2S(n-1)/n leaves each rank; reduce_scatter
and all_gather: one half of that each.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm
from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.algorithms.place import Line, Place
from hocket.schedule.algorithms.ring import ring
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology

__all__ = ["KINDS", "NATIVE", "alike", "along_rings", "multi_ring"]

KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)

_Cycle = NDArray[np.int64]


def multi_ring(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError when the topology is none of the above."""
    one = ring(Collective(collective.kind, collective.num_ranks, size_bytes=0))
    return _around(_cycles(place), collective, one if alike(place) else one.one_by_one())


def along_rings(cycles: Sequence[_Cycle], collective: Collective, topology: Topology) -> Schedule:
    """The untimed schedule of rings around given orders of all ranks: chunk k of a rank goes on ring k mod (number of
    rings). Raises ScheduleError for a kind without rings, for an order that is none of all ranks, and for more rings
    than a rank has chunks."""
    n = collective.num_ranks
    if collective.kind not in KINDS:
        raise ScheduleError(f"rings do {', '.join(KINDS)}, not {collective.kind}")
    if n > topology.num_ranks or any(sorted(cycle) != list(range(n)) for cycle in cycles):
        raise ScheduleError(f"a ring is an order of all {n} ranks of {topology.name}, each once")
    if len(cycles) > collective.chunks_per_rank:
        raise ScheduleError(
            f"{len(cycles)} rings need as many chunks of each rank, got {collective.chunks_per_rank}; use more chunks"
        )
    one = ring(Collective(collective.kind, n, size_bytes=0)).one_by_one()
    return Pattern.of(_around(cycles, collective, one), collective, topology, None, "rings").spelled_out()


def _around(cycles: Sequence[_Cycle], collective: Collective, one: Moves) -> Moves:
    """The moves of one ring in rank order, along each cycle with its share of the chunks."""
    f = collective.chunks_per_rank
    parts = [
        one.relabelled(cycle).in_pieces(f, np.arange(first, f, len(cycles))) for first, cycle in enumerate(cycles[:f])
    ]
    return Moves.together(*parts)


def alike(place: Place) -> bool:
    """Whether all ranks do alike: cycles over machines, and those of a torus, have no symmetry in common.

    Raises ScheduleError as `multi_ring`."""
    return len(place.lines("multi_ring")) < 2


def _cycles(place: Place) -> list[_Cycle]:
    """Orders of the ranks around each ring."""
    lines = place.lines("multi_ring")
    n = len(place.ranks)
    match lines:
        case [Line("ring", _)]:
            return _both_directions(np.arange(n))
        case [Line("fully_connected", _)]:
            return [np.arange(n) * stride % n for stride in range(1, n) if gcd(stride, n) == 1]
        case [Line("ring", columns), Line("ring", rows)] if min(rows, columns) > 2:
            if _splits(rows, columns):
                return [cycle for one in _torus_cycles(rows, columns) for cycle in _both_directions(one)]
            if _splits(columns, rows):
                transposed = np.arange(n).reshape(rows, columns).T.ravel()
                return [cycle for one in _torus_cycles(columns, rows) for cycle in _both_directions(transposed[one])]
        case [Line(inside, columns), Line(_, rows)] if inside in ("switch", "fully_connected"):
            return [_rotated(rows, columns, first) for first in range(columns)]
    raise ScheduleError(
        f"multi_ring finds no rings on {place.topology.name}: it knows rings, full meshes, tori of k x rk ranks "
        "where r and k-1 have no common divisor, and machines; use ring or torus_ring"
    )


def _both_directions(cycle: _Cycle) -> list[_Cycle]:
    return [cycle, cycle[::-1]]


def _splits(rows: int, columns: int) -> bool:
    """Whether `_torus_cycles` works."""
    return rows % columns == 0 and gcd(rows // columns, columns - 1) == 1


def _rotated(rows: int, columns: int, first: int) -> _Cycle:
    """Row after row, each from the column in which the one before ended."""
    row, step = np.indices((rows, columns))
    cycle: _Cycle = row * columns + (first + step - row) % columns
    return cycle.ravel()


def _torus_cycles(rows: int, columns: int) -> list[_Cycle]:
    """Two Hamiltonian cycles of a torus without a common link, where it `_splits`."""
    turn, step = np.indices((rows, columns))
    return [_rotated(rows, columns, 0), ((turn * (columns - 1) + step) % rows * columns + turn % columns).ravel()]


NATIVE = (
    NativeAlgorithm(
        name="multi_ring",
        summary="several rings at once, chunk k on ring k mod r",
        source="Bose et al., Lee distance and topological properties of k-ary n-cubes, 1995; NCCL's channels",
        needs="a ring (r = 2), a full mesh (phi(n)), a k x ik torus with i and k-1 coprime (4), or machines (r ranks in"
        " each)",
        forms=(
            Form((Kind.ALL_REDUCE,), "2(n-1)", "2S(n-1)/n"),
            Form((Kind.REDUCE_SCATTER, Kind.ALL_GATHER), "n-1", "S(n-1)/n"),
        ),
        moves=multi_ring,
        require=_cycles,
        alike=alike,
    ),
)
