"""How NCCL joins the channels of machines: rings, and the double binary tree (src/graph/connect.cc, trees.cc of 2.30).

Machines go in the order in which the communicator's ranks first name them, whatever GPUs each has.
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
    orders = _channels(model, "Ring")
    count = len(orders[0])
    paired = count % 2 == 0 and all(graph["cross_nic"] == 2 for graph in _graphs(model, "Ring"))
    found = [
        # in pairs, the channels of every other machine change places: no ring crosses to another rail
        [rank for machine, of in enumerate(orders) for rank in of[at ^ (paired and machine % 2)]]
        for at in range(count)
    ]
    return [found[channel % len(found)] for channel in range(model.channels_of("Ring"))]


def trees(model: NcclModel) -> list[list[Branch]]:
    """Each channel's tree, as the places of all ranks: chains inside machines, one of two binary trees between them."""
    chains = _channels(model, "Tree")
    patterns = [graph["pattern"] for graph in _graphs(model, "Tree")]
    nodes = len(chains)
    between = [double_tree(nodes, node) for node in range(nodes)]

    def above(node: int, slot: int, channel: int) -> int:
        """The rank of a machine's chain that has its first or second child."""
        chain = chains[node][channel]
        second = chain[min(1, len(chain) - 1)]
        if slot == 0:
            return chain[0] if patterns[node] == _PLAIN_TREE else second
        return second if patterns[node] == _SPLIT_TREE else chain[0]

    def tree(channel: int, which: int) -> list[Branch]:
        found = [Branch() for _ in range(model.ranks)]
        for of in chains:
            for upper, below in pairwise(of[channel]):
                found[below].up = upper
                found[upper].down.append(below)
        for node in range(nodes):
            up, down = between[node][which]
            for slot, below in enumerate(down):
                if below >= 0:
                    found[above(node, slot, channel)].down.append(chains[below][channel][0])
            if up >= 0:
                slot = between[up][which][1].index(node)
                found[chains[node][channel][0]].up = above(up, slot, channel)
        return found

    kinds = [tree(channel, which) for which in (0, 1) for channel in range(len(chains[0]))]
    return [kinds[channel % len(kinds)] for channel in range(model.channels_of("Ring"))]


def _graphs(model: NcclModel, name: str) -> "list[Graph]":
    """The graph of each machine."""
    found = [model.graphs_on(kind)[name] for kind in range(len(model.kinds))]
    return [found[kind] for kind in model.kind_of]


def _channels(model: NcclModel, name: str) -> list[list[list[int]]]:
    """Each machine's ranks in the order of each channel."""
    orders = []
    for kind in range(len(model.kinds)):
        graph = model.graphs_on(kind)[name]
        orders.append(np.array(model.places_on(kind))[graph["gpus"]].reshape(graph["channels"], -1))
    return [np.array(own)[orders[kind]].tolist() for own, kind in zip(model.members, model.kind_of, strict=True)]


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
