"""Symmetries of a topology: permutations of the ranks that its links do not notice."""

import numpy as np
from numpy.typing import NDArray

from hocket._core import topology as engine
from hocket.topology.model import Topology

__all__ = ["link_images"]

_MIX = np.uint64(0x9E3779B97F4A7C15)

_Nodes = NDArray[np.int64]


def link_images(topology: Topology, rank_images: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """The link that each link becomes (int32) when rank r becomes rank `rank_images[r]`, or None.

    Switches follow the nodes that they are linked to. None when the switches cannot be told to do so, or when the links
    between some nodes differ, in number, latency, bandwidth, class or order, from those between the nodes they become.
    """
    nodes = _node_images(topology, rank_images)
    if nodes is None:
        return None
    images = engine.link_images(topology.graph, nodes.astype(np.int32), topology.link_class)
    return images if len(images) == topology.num_links else None


def _node_images(topology: Topology, rank_images: NDArray[np.int64]) -> _Nodes | None:
    """Images of all nodes: from the ranks inwards, a switch becomes the one that has the same links to the images of
    those that are known. Of switches with equal links the first becomes the first. None where they do not pair up."""
    ranks, nodes = topology.num_ranks, topology.num_nodes
    images = np.full(nodes, -1)
    images[:ranks] = rank_images
    if not np.array_equal(np.sort(rank_images), np.arange(ranks)):
        return None
    known = np.arange(nodes) < ranks
    while not known.all():
        preimages = np.full(nodes, -1)
        preimages[images[known]] = np.flatnonzero(known)
        signature, found = _signatures(topology, np.where(known, images, -1))
        wanted, target = _signatures(topology, np.where(preimages >= 0, np.arange(nodes), -1))
        new, onto = np.flatnonzero(found & ~known), np.flatnonzero(target & (preimages < 0))
        new, onto = new[np.argsort(signature[new], kind="stable")], onto[np.argsort(wanted[onto], kind="stable")]
        if len(new) == 0 or not np.array_equal(signature[new], wanted[onto]):
            return None
        images[new] = onto
        known[new] = True
    return images


def _signatures(topology: Topology, label: _Nodes) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Of each node a number that says which labels (-1: none) its links lead to or come from, and whether any do.
    Equal numbers of unequal nodes are no harm: `link_images` compares the links themselves."""
    signature, found = np.zeros(topology.num_nodes, np.uint64), np.zeros(topology.num_nodes, np.bool_)
    for here, there, way in ((topology.src, topology.dst, 1), (topology.dst, topology.src, 2)):
        labelled = label[there] >= 0
        value = (label[there][labelled] * 4 + way).astype(np.uint64)
        for shift in (31, 27):
            value = (value ^ (value >> np.uint64(shift))) * _MIX
        np.add.at(signature, here[labelled], value ^ (value >> np.uint64(33)))
        found[here[labelled]] = True
    return signature, found
