"""Machines and what joins them, as one topology."""

from collections.abc import Sequence
from dataclasses import dataclass

from hocket.base.errors import TopologyError
from hocket.topology.machines.fabric import Fabric, FabricPlan, Port
from hocket.topology.model import DEFAULT_ROUTING, Topology

__all__ = ["FABRIC_PS", "MOST_MACHINES", "Link", "Machine", "MachinePort", "cluster"]

#: Fabrics for accelerators that have a choice send packet after packet another way (docs/topology.md names whose).
FABRIC_ROUTING = "spray"
FABRIC_PS = 150_000  # NIC - switch and switch - switch: one switch and its cable; an assumption (docs/topology.md)
MOST_MACHINES = 1 << 14

Link = tuple[int, int, int, int, str]  # from, to, ps, bytes/s, class


@dataclass(frozen=True, slots=True)
class MachinePort:
    """Where a machine joins the fabric: the node of the NIC, bytes/s a direction, and its rail. `links` are those
    inside that lead to it alone; they are numbered before the port's own."""

    node: int
    bandwidth: int
    rail: int
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """Nodes are GPUs, then switches by `tiers`, each a number of switches; `nvswitch` is the one that can compute, or
    -1. Of many machines, the switches of a tier have the numbers before those of the next."""

    source: str
    gpus: int
    tiers: tuple[int, ...]
    links: tuple[Link, ...]
    ports: tuple[MachinePort, ...]
    nvswitch: int = -1
    notes: tuple[str, ...] = ()


def cluster(
    name: str,
    machines: Sequence[Machine],
    fabric: Fabric,
    nvls: bool = False,
    sharp: bool = False,
    fabric_ps: int = FABRIC_PS,
) -> Topology:
    """The machines in their order, joined by the fabric where there are two or more.

    Nodes: ranks machine by machine; the machines' switches tier by tier; those of the fabric. Links: those inside,
    machine by machine; then port by port; then the fabric's. With `nvls` the NVSwitches compute, with `sharp` the
    fabric's switches. `fabric_ps` is the latency of each of its links. Where leaves have several spines to choose
    from, the fabric sprays. Raises TopologyError, naming the machine, for what it lacks.
    """
    if not 1 <= len(machines) <= MOST_MACHINES or sum(machine.gpus for machine in machines) < 2:
        raise TopologyError(f"{name}: expected 1 to {MOST_MACHINES} machines, and 2 GPUs or more in all")
    for machine in machines:
        if len(machines) > 1 and not machine.ports:
            raise TopologyError(
                f"{machine.source}: no NIC in it, so {len(machines)} machines are not connected: take 1, or add NICs"
            )
        if nvls and machine.nvswitch < 0:
            raise TopologyError(f"{machine.source}: nvls=1 needs NVSwitches and GPUs of sm 90 or more")
    if sharp and len(machines) == 1:
        raise TopologyError(f"{name}: sharp=1 needs a fabric: two nodes or more")
    numbers = _numbers(machines)
    links = [_moved(link, at) for at, machine in zip(numbers, machines, strict=True) for link in machine.links]
    first = 1 + max(max(at) for at in numbers)
    last, routing = first, DEFAULT_ROUTING
    if len(machines) > 1:
        plan, fabric_links = _fabric_links(machines, fabric, numbers, first, fabric_ps)
        links += fabric_links
        last, routing = first + plan.switches, FABRIC_ROUTING if plan.has_choice else DEFAULT_ROUTING
    return Topology.from_links(
        name,
        sum(machine.gpus for machine in machines),
        [link[:4] for link in links],
        num_switches=last - sum(machine.gpus for machine in machines),
        machine=[of for of, machine in enumerate(machines) for _ in range(machine.gpus)],
        link_class=[link[4] for link in links],
        notes=tuple(dict.fromkeys(note for machine in machines for note in machine.notes)),
        in_network=[at[machine.nvswitch] for at, machine in zip(numbers, machines, strict=True) if nvls]
        + [*range(first, last if sharp else first)],
        routing=routing,
    )


def _numbers(machines: Sequence[Machine]) -> list[list[int]]:
    """The node of each machine's each node in the cluster."""
    numbers: list[list[int]] = []
    following = 0
    for machine in machines:
        numbers.append([*range(following, following + machine.gpus)])
        following += machine.gpus
    for tier in range(max(len(machine.tiers) for machine in machines)):
        for at, machine in zip(numbers, machines, strict=True):
            switches = machine.tiers[tier] if tier < len(machine.tiers) else 0
            at += range(following, following + switches)
            following += switches
    return numbers


def _fabric_links(
    machines: Sequence[Machine], fabric: Fabric, numbers: list[list[int]], first: int, fabric_ps: int
) -> tuple[FabricPlan, list[Link]]:
    """The fabric, and the links to and in it; its switches are the nodes from `first` on."""
    joined = [
        (at, port, Port(of, rail, port.bandwidth))
        for of, (at, machine) in enumerate(zip(numbers, machines, strict=True))
        for port in machine.ports
        if (rail := fabric.rail(port.rail, 1 + max(port.rail for port in machine.ports))) >= 0
    ]
    if not joined:
        raise TopologyError("no NIC of any machine is on the fabric: leave one in rails")
    plan = fabric.plan([port for _, _, port in joined])
    links: list[Link] = []
    for (at, inside, _), leaf in zip(joined, plan.leaf, strict=True):
        links += [_moved(link, at) for link in inside.links]
        links += _both(at[inside.node], first + leaf, inside.bandwidth, fabric_ps)
    for lower, upper, bandwidth in plan.trunks:
        links += _both(first + lower, first + upper, bandwidth, fabric_ps)
    return plan, links


def _moved(link: Link, at: list[int]) -> Link:
    src, dst, latency, bandwidth, link_class = link
    return at[src], at[dst], latency, bandwidth, link_class


def _both(one: int, other: int, bandwidth: int, latency_ps: int) -> list[Link]:
    return [(one, other, latency_ps, bandwidth, "fabric"), (other, one, latency_ps, bandwidth, "fabric")]
