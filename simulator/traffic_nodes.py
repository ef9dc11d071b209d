"""What nodes are to synthetic traffic: that of each rank, and which links are between them."""

import numpy as np
from numpy.typing import NDArray

from hocket.topology import Topology
from hocket.topology.machines.node_links import NODE_CLASSES

__all__ = ["is_far_link", "node_of_ranks"]

_FABRIC = "fabric"
_INSIDE = frozenset({"nvlink", "xgmi", "pcie", *NODE_CLASSES})  # of links in nodes
_NOBODY = -1  # what several nodes are equally near to, and what none is, is of no node


def node_of_ranks(topology: Topology) -> NDArray[np.int64]:
    """The node of each rank (int64); where nothing says what nodes are, each rank is one."""
    return np.arange(topology.num_ranks) if _ranks_are_nodes(topology) else topology.machine.astype(np.int64)


def is_far_link(topology: Topology) -> NDArray[np.bool_]:
    """Of each link (bool), whether it is between nodes: it is of the fabric, or its ends are not in one node. A switch
    is in the node of the ranks that are nearest to it without links of the fabric; where they are of several, in none.
    """
    fabric = np.array([name == _FABRIC for name in topology.classes], bool)[topology.link_class]
    owner = _owners(topology, ~fabric)
    from_node, to_node = owner[topology.src], owner[topology.dst]
    far: NDArray[np.bool_] = fabric | (from_node != to_node) | (from_node == _NOBODY)
    return far


def _owners(topology: Topology, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The node of each rank and switch (int64), _NOBODY: none; over the links that may be inside, hop by hop."""
    src, dst = topology.src[inside], topology.dst[inside]
    owner = np.full(topology.num_nodes, _NOBODY, np.int64)
    owner[: topology.num_ranks] = node_of_ranks(topology)
    is_reached = np.arange(topology.num_nodes) < topology.num_ranks
    while (new := is_reached[src] & ~is_reached[dst]).any():
        least = np.full(topology.num_nodes, np.iinfo(np.int64).max)
        most = np.full(topology.num_nodes, _NOBODY, np.int64)
        np.minimum.at(least, dst[new], owner[src[new]])
        np.maximum.at(most, dst[new], owner[src[new]])
        reached = np.unique(dst[new])
        owner[reached] = np.where(least == most, least, _NOBODY)[reached]
        is_reached[reached] = True
    return owner


def _ranks_are_nodes(topology: Topology) -> bool:
    one = bool((topology.machine == topology.machine[0]).all())
    return one and not _INSIDE.intersection(topology.classes)
