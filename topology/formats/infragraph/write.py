"""InfraGraph, written: machines as instances of a device of xpus, switches as instances of a device, links as edges."""

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Any

import yaml

from hocket.base.errors import TopologyError
from hocket.topology.model import Topology

__all__ = ["infragraph_lost", "infragraph_text"]


def infragraph_text(topology: Topology, *, as_json: bool) -> str:
    """The file; reading it gives the same ranks, switches, machines and links.

    Raises TopologyError for what InfraGraph cannot say: links that are not alike both ways, two between the same nodes,
    ranks of a machine that are not one after the other.
    """
    names, instances = _instances(topology)
    links: dict[tuple[str, int, int], str] = {}
    edges = [_edge(names, *pair, links) for pair in _pairs(topology)]
    machines = len(set(topology.machine.tolist()))
    infrastructure = {
        "name": "".join(char if char.isalnum() or char in "-_()" else "_" for char in topology.name) or "infragraph",
        "description": f"{topology.num_ranks} ranks in {machines} machines, {topology.num_links} links",
        "devices": [*_devices(instances)],
        "links": [_link(name, *of) for of, name in links.items()],
        "instances": [{"name": name, "device": device, "count": count} for name, device, count, _ in instances],
        "edges": edges,
    }
    if as_json:
        return json.dumps(infrastructure, indent=1) + "\n"
    text: str = yaml.safe_dump(infrastructure, sort_keys=False)
    return text


def infragraph_lost(topology: Topology) -> tuple[str, ...]:
    """Sentences on what the format has no words for."""
    lost = {
        "which switches compute": topology.in_network,
        "what its machines are to a library": topology.cluster,
        f"its routing, {topology.routing}": topology.routing != "shortest",
        "its dimensions": topology.dimensions,
    }
    return tuple(f"InfraGraph does not say {what}: left out" for what, there in lost.items() if there)


_Instance = tuple[str, str, int, int]  # name, device, count, xpus of each (0: a switch)


def _instances(topology: Topology) -> tuple[list[tuple[str, str]], list[_Instance]]:
    """Instance and component of every node; and the instances."""
    machine = topology.machine.tolist()
    sizes = [len([*ranks]) for _, ranks in groupby(machine)]
    if len(sizes) != len(set(machine)):
        raise TopologyError("InfraGraph numbers the ranks machine by machine, and these are not one after the other")
    names: list[tuple[str, str]] = []
    instances: list[_Instance] = []
    for number, (size, alike) in enumerate(groupby(sizes)):
        count = len([*alike])
        instances.append((f"machines{number}", f"machine_of_{size}", count, size))
        names += [(f"machines{number}[{at}]", f"xpu[{xpu}]") for at in range(count) for xpu in range(size)]
    switches = topology.num_nodes - topology.num_ranks
    if switches:
        instances.append(("switches", "switch", switches, 0))
        names += [(f"switches[{at}]", "switch[0]") for at in range(switches)]
    return names, instances


def _devices(instances: list[_Instance]) -> Iterator[dict[str, Any]]:
    for device, size in dict.fromkeys((device, size) for _, device, _, size in instances):
        kind = "xpu" if size else "switch"
        component = {"name": kind, "count": size or 1, "choice": kind}
        yield {"name": device, "components": [component], "links": [], "edges": []}


def _pairs(topology: Topology) -> Iterator[tuple[int, int, tuple[str, int, int]]]:
    """Both ends of every two links that are each other's way back; class, latency and bandwidth."""
    columns = topology.src, topology.dst, topology.latency_ps, topology.bandwidth, topology.link_class
    found: dict[tuple[int, int], tuple[str, int, int]] = {}
    for src, dst, latency, bandwidth, kind in zip(*(column.tolist() for column in columns), strict=True):
        if (src, dst) in found:
            raise TopologyError(f"two links from node {src} to {dst}, and InfraGraph has one edge for two nodes")
        found[src, dst] = topology.classes[kind], latency, bandwidth
    for (src, dst), of in found.items():
        if found.get((dst, src)) != of:
            raise TopologyError(
                f"the link from node {src} to {dst} has none like it back, and InfraGraph's edges go both ways"
            )
        if src < dst:
            yield src, dst, of


def _edge(
    names: list[tuple[str, str]], one: int, other: int, of: tuple[str, int, int], links: dict[tuple[str, int, int], str]
) -> dict[str, Any]:
    if of not in links:
        alike = sum(each[0] == of[0] for each in links)
        links[of] = of[0] if not alike else f"{of[0]}-{alike + 1}"
    ends = [{"instance": names[node][0], "component": names[node][1]} for node in (one, other)]
    return {"ep1": ends[0], "ep2": ends[1], "scheme": "one2one", "link": links[of]}


def _link(name: str, _: str, latency_ps: int, bandwidth: int) -> dict[str, Any]:
    return {
        "name": name,
        "physical": {
            "bandwidth": {"choice": "gigabytes_per_second", "gigabytes_per_second": _number(bandwidth, 10**9)},
            "latency": {"choice": "ns", "ns": _number(latency_ps, 10**3)},
        },
    }


def _number(value: int, unit: int) -> int | float:
    """The number that reads back as the value. Raises TopologyError where it has too many digits for a float."""
    whole, rest = divmod(value, unit)
    number = float(Decimal(value) / unit)
    if rest and Decimal(repr(number)) * unit != value:
        raise TopologyError(f"{value}: too many digits for InfraGraph's numbers: take a rounder bandwidth or latency")
    return number if rest else whole
