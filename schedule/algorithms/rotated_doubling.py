"""Recursive halving and doubling on all links at once: every piece takes the dimensions in an order of its own.

The ranks are a box of d dimensions of two ranks: those of the topology, where a ring of four counts as two (0-1, 2-3,
then 1-2, 3-0: neighbours all), and a full mesh of 2^k as k. Piece k begins with dimension k mod d and goes on with the
next ones, so in every step all dimensions are busy with pieces of their own, where `recursive_doubling` and
`halving_doubling` use one at a time. In the first h steps partners send each other halves of what they still have (a
reduce_scatter), in the next d - h they exchange sums of all that is left, in the last h they send back (an all_gather):
d + h steps, S (2 - 2 / 2^h + (d - h) / 2^h) leaves each rank. With h = 0 latency is least, with h = d bytes are; the h
whose latencies and bytes come to the least time is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.native import Form, NativeAlgorithm, unalike
from hocket.schedule.algorithms.place import Place
from hocket.schedule.collective import Collective, Kind

__all__ = ["NATIVE"]

_PICOSECONDS = 10**12
# About a second of work, and tens of MB.
_MAX_TRANSFERS = 1 << 20


@dataclass(frozen=True, eq=False)
class _Box:
    """Rank `rank[code]` has the coordinates in all dimensions that are the bits of `code`."""

    dimensions: int
    rank: NDArray[np.int64]

    @classmethod
    def of(cls, place: Place) -> "_Box":
        """Raises ScheduleError where ranks are no such box."""
        code, bits = np.zeros(len(place.ranks), np.int64), 0
        coordinates = np.arange(len(place.ranks))
        for line in place.lines("rotated_doubling"):
            width = line.size.bit_length() - 1
            joined = line.kind == "fully_connected" or (line.kind != "switch" and line.size == 2)
            if 1 << width != line.size or not (joined or (line.kind, line.size) == ("ring", 4)):
                raise ScheduleError(
                    "rotated_doubling needs links between ranks, in dimensions of two, rings of four or full meshes of "
                    "a power of two; use halving_doubling or swing"
                )
            at = coordinates % line.size
            code |= (at ^ at >> 1 if line.kind == "ring" else at) << bits
            coordinates, bits = coordinates // line.size, bits + width
        if bits == 0:
            raise ScheduleError("rotated_doubling needs two ranks or more: a single one has its sums")
        return cls(bits, np.argsort(code))


def rotated_doubling(collective: Collective, place: Place) -> Moves:
    """Raises ScheduleError unless the ranks are such a box, and for too many transfers."""
    box, f = _Box.of(place), collective.chunks_per_rank
    latency_ps, bandwidth = place.way(int(box.rank[0]), int(box.rank[1]))
    part_ps = collective.size_bytes * _PICOSECONDS // max(1, bandwidth * min(f, box.dimensions))
    halved = min(range(box.dimensions + 1), key=lambda h: _estimate_ps(box.dimensions, h, latency_ps, part_ps))
    if len(box.rank) ** 2 * f * (2 + (box.dimensions - halved >> halved)) > _MAX_TRANSFERS:
        raise ScheduleError("rotated_doubling needs few ranks and chunks: use hierarchical or halving_doubling")
    parts = [
        _from(box, first, halved).in_pieces(f, np.arange(first, f, box.dimensions))
        for first in range(min(f, box.dimensions))
    ]
    return Moves.together(*parts)


def _estimate_ps(dimensions: int, halved: int, latency_ps: int, part_ps: int) -> int:
    """Of the pieces that begin with a dimension, whose bytes take `part_ps` over a link: until the last of the first
    step has gone through all steps, or until links have carried all."""
    steps, first_ps = dimensions + halved, part_ps >> (halved > 0)
    carried_ps = 2 * part_ps + ((dimensions - halved - 2) * part_ps >> halved)
    return max(steps * latency_ps + first_ps, latency_ps + carried_ps)


def _from(box: _Box, first: int, halved: int) -> Moves:
    """The moves of a piece that begins with a dimension, one chunk per rank. All ranks send chunks in one order, so
    none gets the next sum of a chunk before it has sent its own."""
    order = [(first + step) % box.dimensions for step in range(box.dimensions)]
    chunk, rank = np.divmod(np.arange(len(box.rank) ** 2), len(box.rank))
    apart = chunk ^ rank
    moves = []
    for step, dimension in enumerate([*order, *order[:halved][::-1]]):
        back = step >= box.dimensions
        settled = order[: min(step, halved) if not back else order.index(dimension)]
        here = (apart & sum(1 << each for each in settled)) == 0
        if not back and step < halved:
            here &= (apart >> dimension & 1) == 1
        elif back:
            here &= (apart >> dimension & 1) == 0
        src, dst = box.rank[rank[here]], box.rank[rank[here] ^ 1 << dimension]
        own = step == 0 and halved == 0
        moves.append(Moves.of(step, src, dst, box.rank[chunk[here]], reduce=not back, own=own))
    return Moves.together(*moves)


NATIVE = (
    NativeAlgorithm(
        name="rotated_doubling",
        summary="halving, exchange and doubling with neighbours, each piece through the dimensions in its own order",
        needs="links between ranks: dimensions of 2, rings of 4, full meshes of a power of two",
        forms=(Form((Kind.ALL_REDUCE,), "d + h, d = log n, h as the size asks", "S(2 - 2/2^h + (d-h)/2^h)"),),
        moves=rotated_doubling,
        require=_Box.of,
        by_size=True,
        alike=unalike,
    ),
)
