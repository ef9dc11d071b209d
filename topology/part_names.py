"""Parts of a cluster by what people call them: GPUs and NICs by machine, switches of the fabric by tier."""

import re

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TopologyError
from hocket.topology.model import Topology
from hocket.topology.naming import spans

__all__ = ["NODE_NAME", "fabric_links", "node_called"]

#: A node as a number, or as `gpu1.3`, `nic0.2` (machine, place in it), `leaf0`, `spine1`, `core0`.
NODE_NAME = r"(?:[0-9]{1,9}|(?:gpu|nic)[0-9]{1,9}\.[0-9]{1,9}|(?:leaf|spine|core)[0-9]{1,9})"
_TIERS = ("leaf", "spine", "core")
_FABRIC = "fabric"


def node_called(topology: Topology, name: str, text: str) -> int:
    """The id of the node of that name (`NODE_NAME`). Machines, and GPUs and NICs in them, are counted from 0 in the
    order of their node ids, and so are the switches of a tier: a leaf is next to NICs (where the topology has no links
    of class `fabric`: to ranks), a spine to leaves, a core to spines. Raises TopologyError where there is none, naming
    the `text` that the name is from."""
    if name.isdecimal():
        return int(name)
    word, numbers = name.rstrip("0123456789."), [int(number) for number in re.findall("[0-9]+", name)]
    if word in _TIERS:
        return _one(topology, text, _tier(topology, _TIERS.index(word)), numbers[0], f"{word} switches")
    machines = np.unique(topology.machine)
    machine = _one(topology, text, machines, numbers[0], "nodes")
    members = np.flatnonzero(topology.machine == machine) if word == "gpu" else _nics(topology, machine)
    return _one(topology, text, members, numbers[1], f"{word.upper()}s of node {numbers[0]}")


def fabric_links(topology: Topology) -> NDArray[np.bool_]:
    """The links between machines; all, where no class says so."""
    if _FABRIC not in topology.classes:
        return np.ones(topology.num_links, np.bool_)
    chosen: NDArray[np.bool_] = topology.link_class == topology.classes.index(_FABRIC)
    return chosen


def _nics(topology: Topology, machine: int) -> NDArray[np.int64]:
    """The nodes of a machine that have links to the fabric: NICs, or GPUs whose ports they are themselves."""
    fabric = fabric_links(topology)
    if fabric.all():
        return np.empty(0, np.int64)
    inside = np.zeros(topology.num_nodes, np.bool_)
    inside[: topology.num_ranks] = topology.machine == machine
    src, dst = topology.src[~fabric], topology.dst[~fabric]
    while (new := np.setdiff1d(dst[inside[src]], np.flatnonzero(inside))).size:
        inside[new] = True
    return np.flatnonzero(inside & _with_link(topology, fabric))


def _tier(topology: Topology, tier: int) -> NDArray[np.int64]:
    """The switches so many steps above the leaves."""
    fabric = fabric_links(topology)
    src, dst = topology.src[fabric], topology.dst[fabric]
    if fabric.all():
        below = np.arange(topology.num_ranks)
    else:
        below = np.concatenate([_nics(topology, machine) for machine in np.unique(topology.machine).tolist()])
    seen = below
    for _ in range(tier + 1):
        below = np.setdiff1d(dst[np.isin(src, below)], seen)
        seen = np.union1d(seen, below)
    return below


def _with_link(topology: Topology, links: NDArray[np.bool_]) -> NDArray[np.bool_]:
    nodes = np.zeros(topology.num_nodes, np.bool_)
    nodes[topology.src[links]] = True
    return nodes


def _one(topology: Topology, text: str, nodes: NDArray[np.integer], number: int, what: str) -> int:
    if number < len(nodes):
        return int(nodes[number])
    there = f"only {what} {spans(range(len(nodes)))}" if len(nodes) else f"no {what}"
    raise TopologyError(f"'{text}': {topology.name} has {there}")
