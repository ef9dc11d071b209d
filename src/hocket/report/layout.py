"""Where to draw the nodes of a topology: deterministic, no force simulation."""

import math

import numpy as np

from hocket.topology import Topology

__all__ = ["place_nodes"]


def place_nodes(topology: Topology) -> tuple[list[float], list[float]]:
    """x and y of every node.

    Switched networks are drawn in layers (ranks at the bottom, a switch one above the nearest rank), grids as grids,
    everything else on a circle.
    """
    if topology.num_nodes > topology.num_ranks:
        return _layers(topology)
    sizes = [dimension.size for dimension in topology.dimensions]
    if len(sizes) == 2 and all(dimension.kind in ("mesh", "ring") for dimension in topology.dimensions):
        ranks = range(topology.num_ranks)
        return [float(rank % sizes[0]) for rank in ranks], [-float(rank // sizes[0]) for rank in ranks]
    angles = [2 * math.pi * rank / topology.num_ranks for rank in range(topology.num_ranks)]
    return [math.sin(angle) for angle in angles], [math.cos(angle) for angle in angles]


def _layers(topology: Topology) -> tuple[list[float], list[float]]:
    layer = np.full(topology.num_nodes, -1)
    layer[: topology.num_ranks] = 0
    depth = 0
    while (layer < 0).any():
        depth += 1
        reached = topology.dst[layer[topology.src] == depth - 1]
        new = reached[layer[reached] < 0]
        if not len(new):  # switches that no rank reaches: above all the others
            new = np.flatnonzero(layer < 0)
        layer[new] = depth
    x = np.zeros(topology.num_nodes)
    x[: topology.num_ranks] = np.arange(topology.num_ranks)
    for level in range(1, depth + 1):
        nodes = np.flatnonzero(layer == level)
        below = layer[topology.src] == level - 1
        wanted = np.array([np.mean(x[topology.src[below & (topology.dst == node)]]) for node in nodes])
        gap = max(1.0, topology.num_ranks / (len(nodes) + 1)) * 0.6
        placed = -math.inf
        for position in np.argsort(wanted, kind="stable"):  # each near its wish, clear of its left neighbour
            placed = max(float(wanted[position]), placed + gap)
            x[nodes[position]] = placed
        x[nodes] += np.mean(wanted) - np.mean(x[nodes])
    return x.tolist(), layer.astype(float).tolist()
