"""The nodes of a topology as a picture shows them: each by itself, or together where they are many."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.report.layout import Places, is_grid, place_layers, place_ranks
from hocket.report.node_names import NodeNames
from hocket.report.topology_parts import Role
from hocket.topology.naming import spans

__all__ = ["BlockLinks", "NodeBlocks", "blocks_of"]

_SINGLE_RANKS = 64  # ranks that are drawn one by one among switches
_SINGLE_NODES = 200
_GRID_RANKS = 1100  # of a grid, whose neighbours are beside each other
_MOST_BLOCKS = 128
_PER_ROW = 16
_HEIGHTS = {Role.NVSWITCH: -1}  # of what is in a node; the rest is above the ranks


@dataclass(frozen=True, slots=True)
class BlockLinks:
    """The links between two blocks, or inside one (`one` is `other`): ids by direction."""

    one: int
    other: int
    there: NDArray[np.int64]
    back: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeBlocks:
    """`of` is the block of each node; of each block `names`, the `ranks` in it, and its place."""

    of: NDArray[np.int64]
    names: tuple[str, ...]
    ranks: tuple[NDArray[np.int64], ...]
    joints: tuple[BlockLinks, ...]
    places: Places

    @property
    def are_single(self) -> bool:
        """Whether each rank is a block."""
        return max((len(each) for each in self.ranks), default=0) <= 1


def blocks_of(names: NodeNames) -> NodeBlocks:
    """The blocks to be drawn: nodes by themselves where they are few or a grid; else nodes of a cluster with all that
    is in them, or ranks that follow each other, and the switches that join the same ones."""
    topology = names.topology
    ranks, grid = topology.num_ranks, is_grid(topology)
    single = ranks <= _GRID_RANKS if grid else ranks <= _SINGLE_RANKS and topology.num_nodes <= _SINGLE_NODES
    label = np.arange(topology.num_nodes) if single else _together(names)
    _, first, of = np.unique(label, return_index=True, return_inverse=True)
    of = of.reshape(-1)
    members = [of[:ranks] == block for block in range(len(first))] if not single else None
    inside = tuple(
        np.flatnonzero(members[block]) if members else np.array([block] if block < ranks else [], np.int64)
        for block in range(len(first))
    )
    joints = _joints(topology.src, topology.dst, of)
    called = tuple(_name(names, np.flatnonzero(of == block), inside[block]) for block in range(len(first)))
    if grid and single:
        places = place_ranks(topology)
    else:
        layer = _layers(of, names, len(first))
        per_row = min(max(ranks, 1), _SINGLE_RANKS) if single else _PER_ROW
        if not layer.any():
            places = place_ranks(topology) if single else place_layers(layer, (), _PER_ROW)
        else:
            places = place_layers(layer, [(each.one, each.other) for each in joints], per_row)
    return NodeBlocks(of, called, inside, joints, places)


def _together(names: NodeNames) -> NDArray[np.int64]:
    """A number for each node, the same for those of a block; blocks with ranks come first."""
    topology, parts = names.topology, names.parts
    ranks = topology.num_ranks
    machines = np.unique(topology.machine)
    label = np.full(topology.num_nodes, -1, np.int64)
    if len(machines) > 1:
        step = -(-len(machines) // _MOST_BLOCKS)
        number = {int(machine): at // step for at, machine in enumerate(machines)}
        label[:] = [number.get(machine, -1) for machine in parts.machine]
    else:
        step = -(-ranks // min(_MOST_BLOCKS, max(1, ranks // 8)))
        label[:ranks] = np.arange(ranks) // step
    blocks: dict[tuple[object, ...], int] = {}
    for node in sorted(np.flatnonzero(label < 0).tolist(), key=lambda node: (parts.tier.get(node, 0), node)):
        near = sorted(
            {int(label[other]) for other in topology.dst[topology.links_out_of.of(node)] if label[other] >= 0}
        )
        key = (parts.role[node], parts.tier.get(node, 0), *near)
        label[node] = blocks.setdefault(key, ranks + len(blocks))
    return label


def _layers(of: NDArray[np.int64], names: NodeNames, count: int) -> NDArray[np.int64]:
    """How high each block is drawn: NVSwitches below the ranks, the rest of a node above, then the fabric's tiers."""
    parts, ranks = names.parts, names.topology.num_ranks
    inside = (node for node in range(ranks, names.topology.num_nodes) if node not in parts.tier)
    inner = any(parts.role[node] not in _HEIGHTS for node in inside)
    layer = np.zeros(count, np.int64)
    lowest = np.full(count, names.topology.num_nodes)
    np.minimum.at(lowest, of, np.arange(len(of)))
    for block, node in enumerate(lowest.tolist()):
        if node >= ranks:
            layer[block] = inner + parts.tier[node] if node in parts.tier else _HEIGHTS.get(parts.role[node], 1)
    return layer


def _joints(src: NDArray[np.int32], dst: NDArray[np.int32], of: NDArray[np.int64]) -> tuple[BlockLinks, ...]:
    ends = np.sort(np.stack([of[src], of[dst]]), axis=0)
    pairs, number = np.unique(ends, axis=1, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    borders = np.searchsorted(number[order], np.arange(pairs.shape[1] + 1))
    joints = []
    for at, (one, other) in enumerate(pairs.T.tolist()):
        links = order[borders[at] : borders[at + 1]]
        there = of[src[links]] == one
        joints.append(BlockLinks(one, other, links[there], links[~there] if one != other else links[:0]))
    return tuple(joints)


def _name(names: NodeNames, nodes: NDArray[np.int64], ranks: NDArray[np.int64]) -> str:
    if len(nodes) == 1:
        return names.names[int(nodes[0])]
    if not len(ranks):
        each = [names.names[node] for node in nodes.tolist()]
        word, _, number = each[0].rpartition(" ")
        return f"{word or number} {spans(range(len(nodes)))}" if len(set(each)) < len(each) else _several(each)
    machines = np.unique(names.topology.machine[ranks])
    if len(np.unique(names.topology.machine)) == 1:
        return f"ranks {spans(ranks.tolist())}"
    return f"node {machines[0]}" if len(machines) == 1 else f"nodes {spans(machines.tolist())}"


def _several(names: list[str]) -> str:
    """`leaf 0-7`: of names that differ in their numbers."""
    word = names[0].rpartition(" ")[0]
    numbers = [name.rpartition(" ")[2] for name in names]
    if all(number.isdecimal() for number in numbers) and all(name.startswith(f"{word} ") for name in names):
        return f"{word} {spans(sorted(map(int, numbers)))}"
    return f"{names[0]} and {len(names) - 1} more"
