"""Where to draw the ranks and switches of a topology: grids as grids, rings as rings, switches above what they join."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Topology

__all__ = ["Places", "is_grid", "place_layers", "place_ranks"]

Places = tuple[NDArray[np.float64], NDArray[np.float64]]
"""x and y of each, y downwards; the distance of neighbours is about 1."""
_OFF = 1.2  # places by which a plane is set off from the one before it
_ROUND = 40  # ranks that still make a circle


def is_grid(topology: Topology) -> bool:
    """Whether its ranks are joined without switches, in dimensions that say how."""
    return topology.num_nodes == topology.num_ranks and bool(topology.dimensions)


def place_ranks(topology: Topology) -> Places:
    """Ranks without switches: one dimension of a few on a circle (a mesh on a line), others with their even dimensions
    across and the odd ones down, a gap around each block of the inner ones; ranks of no dimensions on a circle, or in
    rows where they are many."""
    ranks = np.arange(topology.num_ranks)
    dimensions = topology.dimensions
    if len(dimensions) == 1 and dimensions[0].kind == "mesh" and topology.num_ranks <= _ROUND:
        return ranks.astype(float), np.zeros(topology.num_ranks)
    if len(dimensions) <= 1:
        if topology.num_ranks <= _ROUND:
            radius = max(1.0, topology.num_ranks / (2 * math.pi))
            angle = 2 * math.pi * ranks / topology.num_ranks
            return radius * np.sin(angle), -radius * np.cos(angle)
        return _rows(topology.num_ranks)
    place = [np.zeros(topology.num_ranks), np.zeros(topology.num_ranks)]
    pitch, stride = [1.0, 1.0], 1
    for number, dimension in enumerate(dimensions):
        axis, coordinate = number % 2, ranks // stride % dimension.size
        place[axis] += coordinate * pitch[axis]
        if number >= 2:  # planes are set off, or their links would lie on each other
            place[1 - axis] += coordinate * _OFF
        stride *= dimension.size
        pitch[axis] = pitch[axis] * dimension.size + 0.8
    return place[0], place[1]


def place_layers(layer: NDArray[np.int64], joined: Sequence[tuple[int, int]], per_row: int) -> Places:
    """Those of layer 0 in their order, `per_row` beside each other, from the left; those of higher layers above, of
    layer -1 below, each near what it is joined to nearer to layer 0, clear of its neighbours. `joined` are pairs of
    places."""
    x, y = np.zeros(len(layer)), np.zeros(len(layer))
    middle = np.flatnonzero(layer == 0)
    row, column = np.divmod(np.arange(len(middle)), per_row)
    x[middle], y[middle] = column, row
    wide, rows = float(min(per_row, len(middle))), -(-len(middle) // per_row)
    inner: dict[int, list[int]] = {}
    for one, other in joined:
        for outer, nearer in ((one, other), (other, one)):
            if abs(layer[nearer]) < abs(layer[outer]):
                inner.setdefault(outer, []).append(nearer)
    for level in (-1, *range(1, int(layer.max(initial=0)) + 1)):
        nodes = np.flatnonzero(layer == level)
        if not len(nodes):
            continue
        wanted = np.array([np.mean(x[inner[node]]) if node in inner else wide / 2 for node in nodes.tolist()])
        gap = max(0.9, wide / (len(nodes) + 1) * 0.6) if len(nodes) * 0.9 < wide else wide / len(nodes)
        placed = -math.inf
        for position in np.argsort(wanted, kind="stable").tolist():
            placed = max(float(wanted[position]), placed + gap)
            x[nodes[position]] = placed
        x[nodes] += np.mean(wanted) - np.mean(x[nodes])
        y[nodes] = -1.6 * level if level > 0 else rows + 0.4
    return x, y


def _rows(count: int) -> Places:
    """In rows, twice as wide as high."""
    per_row = max(1, round(math.sqrt(2.0 * count)))
    row, column = np.divmod(np.arange(count), per_row)
    return column.astype(float), row.astype(float)
