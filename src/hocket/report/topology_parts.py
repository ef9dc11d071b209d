"""What the nodes of a topology are in a picture: GPUs, NVSwitches, PCI switches, CPUs, NICs, tiers of a fabric."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from hocket.topology import Topology
from hocket.topology.model import DEFAULT_CLASS

__all__ = ["Hop", "Parts", "Role", "parts_of"]


class Role(Enum):
    """By the classes of links that end there, as presets and imported machines have them."""

    GPU = "GPU"
    NVSWITCH = "NVSwitch"
    PCI = "PCI"
    CPU = "CPU"
    NIC = "NIC"
    FABRIC = "switch"


@dataclass(frozen=True, slots=True)
class Hop:
    """The links between two nodes of one class, in one direction together."""

    one: int
    other: int
    link_class: str
    bandwidth: int


@dataclass(frozen=True, slots=True)
class Parts:
    """`role` and `machine` (-1 of the fabric) of each node; `tier` of the fabric's, 1 next to the machines; `hops` once
    a pair, the lower node first; `alike`: the machines that have the same parts as the first of each group."""

    role: tuple[Role, ...]
    machine: tuple[int, ...]
    tier: dict[int, int]
    hops: tuple[Hop, ...]
    alike: tuple[tuple[int, ...], ...]

    def nodes(self, machine: int, role: Role) -> list[int]:
        return [node for node, of in enumerate(self.machine) if of == machine and self.role[node] == role]

    def neighbours(self, node: int) -> list[int]:
        return [hop.other if hop.one == node else hop.one for hop in self.hops if node in (hop.one, hop.other)]


def parts_of(topology: Topology) -> Parts:
    """The parts of a topology of machines, or of ranks and switches of any kind, which are one machine then."""
    hops = _hops(topology)
    classes: list[set[str]] = [set() for _ in range(topology.num_nodes)]
    neighbours: list[set[int]] = [set() for _ in range(topology.num_nodes)]
    for hop in hops:
        for node, other in ((hop.one, hop.other), (hop.other, hop.one)):
            classes[node].add(hop.link_class)
            neighbours[node].add(other)
    ranks = topology.num_ranks
    role = [_role(node < ranks, classes[node], len(neighbours[node])) for node in range(topology.num_nodes)]
    machine = [*topology.machine.tolist(), *[-1] * (topology.num_nodes - ranks)]
    reached = list(range(ranks))
    for node in reached:  # grows while it is walked: from the ranks through all that is in their machines
        for other in sorted(neighbours[node]):
            if machine[other] < 0 and role[other] != Role.FABRIC:
                machine[other] = machine[node]
                reached.append(other)
    _name_single_cpus(machine, role, classes)
    tier = {node: 0 for node in range(topology.num_nodes) if role[node] == Role.FABRIC}
    at, level = {node for node in tier if any(role[other] != Role.FABRIC for other in neighbours[node])}, 1
    while at:
        tier |= dict.fromkeys(at, level)
        at = {other for node in at for other in neighbours[node] if tier.get(other) == 0}
        level += 1
    return Parts(tuple(role), tuple(machine), tier, tuple(hops), _alike(machine, role, hops))


def _hops(topology: Topology) -> list[Hop]:
    ends = np.sort(np.stack([topology.src, topology.dst]), axis=0)
    forward = topology.src < topology.dst
    rows = np.stack([*ends, topology.link_class])
    pairs, number = np.unique(rows, axis=1, return_inverse=True)
    width = np.zeros((2, pairs.shape[1]), np.int64)
    np.add.at(width, (forward.astype(int), number.reshape(-1)), topology.bandwidth)
    names = topology.classes
    columns = (*pairs.tolist(), width.max(axis=0).tolist())
    return [Hop(one, other, names[kind], wide) for one, other, kind, wide in zip(*columns, strict=True)]


def _role(is_rank: bool, classes: set[str], neighbours: int) -> Role:
    if is_rank:
        return Role.GPU
    if classes == {"fabric"} or all(name == DEFAULT_CLASS or name.isdecimal() for name in classes):
        return Role.FABRIC
    if classes <= {"nvlink", "xgmi", "nvswitch"}:
        return Role.NVSWITCH
    if classes & {"cpu", "c2c"}:
        return Role.CPU
    return Role.NIC if "fabric" in classes or neighbours == 1 or classes == {"pcie"} else Role.PCI


def _name_single_cpus(machine: list[int], role: list[Role], classes: list[set[str]]) -> None:
    """The CPU of a machine that has one has PCI links alone, as its switches: it is the first of them."""
    named = {of for of, what in zip(machine, role, strict=True) if what == Role.CPU}
    for node, of in enumerate(machine):
        if role[node] != Role.GPU and classes[node] == {"pci"} and of not in named:
            role[node] = Role.CPU
            named.add(of)


def _alike(machine: list[int], role: list[Role], hops: list[Hop]) -> tuple[tuple[int, ...], ...]:
    """Machines by what is in them, numbered from their own first nodes; the fabric's switches are not looked at."""
    inside: dict[int, list[int]] = {}
    for node, of in enumerate(machine):
        inside.setdefault(of, []).append(node)
    local = {node: at for nodes in inside.values() for at, node in enumerate(nodes)}
    shape: dict[int, list[tuple[object, ...]]] = {of: [tuple(role[node] for node in inside[of])] for of in inside}
    for hop in hops:
        if machine[hop.one] == machine[hop.other]:
            shape[machine[hop.one]].append((local[hop.one], local[hop.other], hop.link_class, hop.bandwidth))
    groups: dict[tuple[tuple[object, ...], ...], list[int]] = {}
    for of in sorted(inside):
        if of >= 0:
            groups.setdefault(tuple(shape[of]), []).append(of)
    return tuple(tuple(group) for group in groups.values())
