"""How NCCL joins the channels of machines: rings, and the double binary tree (src/graph/connect.cc, trees.cc of 2.30).

Ranks go machine by machine, and inside one as NCCL counts its GPUs.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hocket.nccl.model import NcclModel

if TYPE_CHECKING:
    from hocket._core.nccl import Graph

__all__ = ["Branch", "double_tree", "rings", "trees"]

_PLAIN_TREE, _SPLIT_TREE = 3, 2  # patterns in which a machine's first GPU has both children, or none


@dataclass(slots=True)
class Branch:
    """A rank's place in a tree: the rank above it (-1: none), those below it."""

    up: int = -1
    down: list[int] = field(default_factory=list)


def rings(model: NcclModel) -> list[list[int]]:
    """The ranks of each channel's ring, in its order, from the first machine's first GPU on."""
    graph = model.graphs["Ring"]
    orders = _channels(model, graph)
    paired = graph["cross_nic"] == 2 and len(orders) % 2 == 0
    gpus = model.ranks // model.nodes
    found = [
        # in pairs, the channels of every other machine change places: no ring crosses to another rail
        [machine * gpus + gpu for machine in range(model.nodes) for gpu in orders[at ^ (paired and machine % 2)]]
        for at in range(len(orders))
    ]
    return [found[channel % len(found)] for channel in range(model.channels_of("Ring"))]


def trees(model: NcclModel) -> list[list[Branch]]:
    """Each channel's tree, as the places of all ranks: chains inside machines, one of two binary trees between them."""
    graph = model.graphs["Tree"]
    chains = _channels(model, graph)
    gpus, nodes = model.ranks // model.nodes, model.nodes
    second = min(1, gpus - 1)  # place in the chain of the GPU that has a machine's children, unless the first has
    child = (
        0 if graph["pattern"] == _PLAIN_TREE else second,
        second if graph["pattern"] == _SPLIT_TREE else 0,
    )
    between = [double_tree(nodes, node) for node in range(nodes)]

    def tree(chain: list[int], which: int) -> list[Branch]:
        found = [Branch() for _ in range(model.ranks)]
        for node in range(nodes):
            at = [node * gpus + gpu for gpu in chain]
            for above, below in pairwise(at):
                found[below].up = above
                found[above].down.append(below)
        for node in range(nodes):
            up, down = between[node][which]
            for slot, below in enumerate(down):
                if below >= 0:
                    found[node * gpus + chain[child[slot]]].down.append(below * gpus + chain[0])
            if up >= 0:
                slot = between[up][which][1].index(node)
                found[node * gpus + chain[0]].up = up * gpus + chain[child[slot]]
        return found

    kinds = [tree(chain, which) for which in (0, 1) for chain in chains]
    return [kinds[channel % len(kinds)] for channel in range(model.channels_of("Ring"))]


def _channels(model: NcclModel, graph: "Graph") -> list[list[int]]:
    """A machine's ranks in the order of each channel."""
    places = np.array(model.places)
    found: list[list[int]] = places[graph["gpus"]].reshape(graph["channels"], -1).tolist()
    return found


def double_tree(nodes: int, node: int) -> list[tuple[int, tuple[int, int]]]:
    """A node's place in both trees: the node above it (-1: none), and its first and second child (-1: none).

    The second tree is the first mirrored for an even number of nodes, turned by one for an odd: inner nodes of one are
    leaves of the other.
    """

    def renamed(place: tuple[int, tuple[int, int]], name: list[int]) -> tuple[int, tuple[int, int]]:
        up, (first, second) = place
        return (name[up] if up >= 0 else -1, (name[first] if first >= 0 else -1, name[second] if second >= 0 else -1))

    if nodes % 2:
        other = renamed(_binary(nodes, (node - 1) % nodes), [(each + 1) % nodes for each in range(nodes)])
    else:
        other = renamed(_binary(nodes, nodes - 1 - node), list(range(nodes))[::-1])
    return [_binary(nodes, node), other]


def _binary(nodes: int, node: int) -> tuple[int, tuple[int, int]]:
    """A place in the tree whose leaves are the odd numbers: the lowest bit that is set is a node's height."""
    bit = node & -node
    if node == 0:
        top = 1 << (nodes - 1).bit_length() >> 1
        return -1, (-1, top if nodes > 1 else -1)
    up = (node ^ bit) | (bit << 1)
    if up >= nodes:
        up = node ^ bit
    low = bit >> 1
    if low == 0:
        return up, (-1, -1)
    step = low
    while step and node + step >= nodes:
        step >>= 1
    return up, (node - low, node + step if step else -1)
