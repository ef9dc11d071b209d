"""Nodes of accelerators around a switch, with NICs: `node:accelerators=8,link=pcie5x16,nodes=4`."""

from collections.abc import Mapping

from hocket.base.errors import FormatError, TopologyError
from hocket.base.units import format_bandwidth, parse_bandwidth, parse_time
from hocket.topology.machines.cluster import FABRIC_PS, MOST_MACHINES, Link, Machine, MachinePort, cluster
from hocket.topology.machines.fabric import FABRIC_KEYS, read_fabric
from hocket.topology.machines.node_links import NodeLink, read_node_link
from hocket.topology.model import Topology
from hocket.topology.options import read_number

__all__ = ["NODE", "NODE_KEYS", "node_topology"]

#: The word of such specs.
NODE = "node"
NODE_KEYS = ("accelerators", "link", "nic", "nics", "nic_link", "latency", "nodes", "fabric_latency", *FABRIC_KEYS)

_INSIDE_PS = 100_000  # of a link inside; an assumption
_NIC = "400Gbit/s"


def node_topology(name: str, options: Mapping[str, str]) -> Topology:
    """The nodes that a spec's keys say, joined by a fabric from two on.

    Nodes of the graph: accelerators, which are the ranks, node by node; a switch per node; NICs; the fabric's switches.
    Links: `link` from each accelerator to its switch, `nic_link` (the same unless said) from the switch to each of the
    `nics` (1), both in the class of their technology and with what their headers take; `nic` (400 Gbit/s) from each to
    the fabric. `latency` of a link inside (100 ns), `fabric_latency` of one of the fabric (150 ns).
    Raises FormatError and TopologyError for what cannot be.
    """
    for key, example in (("accelerators", "accelerators=8"), ("link", "link=pcie5x16")):
        if key not in options:
            raise FormatError(f"{key} is missing: add {example}")
    accelerators, nodes, nics = (read_number(key, options.get(key, "1")) for key in ("accelerators", "nodes", "nics"))
    if not 1 <= nodes <= MOST_MACHINES or accelerators < 1 or nodes * accelerators < 2:
        raise TopologyError(f"a node takes nodes from 1 to {MOST_MACHINES}, and 2 accelerators or more in all")
    if not 1 <= nics <= accelerators:
        raise TopologyError(f"nics={nics}: expected 1 to {accelerators}, the number of accelerators")
    link = read_node_link(options["link"])
    nic_link = read_node_link(options["nic_link"]) if "nic_link" in options else link
    latency_ps = parse_time(options["latency"]) if "latency" in options else _INSIDE_PS
    links: list[Link] = []
    for accelerator in range(accelerators):
        links += _both(accelerator, accelerators, latency_ps, link)
    ports = tuple(
        MachinePort(
            accelerators + 1 + nic,
            parse_bandwidth(options.get("nic", _NIC)),
            nic,
            tuple(_both(accelerators, accelerators + 1 + nic, latency_ps, nic_link)),
        )
        for nic in range(nics if nodes > 1 else 0)
    )
    words = {options["link"]: link, options.get("nic_link", options["link"]): nic_link}
    notes = tuple(_note(word, each) for word, each in words.items() if each.format is not None)
    machine = Machine(NODE, accelerators, (1, len(ports)), tuple(links), ports, notes=notes)
    fabric_ps = parse_time(options["fabric_latency"]) if "fabric_latency" in options else FABRIC_PS
    return cluster(name, [machine] * nodes, read_fabric(options), fabric_ps=fabric_ps)


def _note(word: str, link: NodeLink) -> str:
    return (
        f"links of class {link.link_class} carry {format_bandwidth(link.bandwidth)} with their headers:"
        f" --model packet --packets {link.link_class}={word} has these"
    )


def _both(one: int, other: int, latency_ps: int, link: NodeLink) -> list[Link]:
    return [(src, dst, latency_ps, link.bandwidth, link.link_class) for src, dst in ((one, other), (other, one))]
