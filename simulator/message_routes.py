"""Which links the messages of a workload take."""

from collections.abc import Iterable

import numpy as np

from hocket.simulator.workload import Workload
from hocket.topology import Crossing, Ports, Routes, Topology, routes

__all__ = ["message_routes", "port_notes"]


def message_routes(workload: Workload, topology: Topology) -> Routes:
    """The route of each message of a placed workload: over the ports that its crossing names where the topology has
    such, else the shortest."""
    if not len(workload.message_src):
        return Routes(np.zeros(1, np.int64), np.zeros(0, np.int32))
    choices = 1 + len(workload.crossings)
    ends = workload.message_src.astype(np.int64) * topology.num_nodes + workload.message_dst
    keys, of = np.unique(ends * choices + 1 + workload.message_crossing, return_inverse=True)
    pair, choice = np.divmod(keys, choices)
    src, dst = np.divmod(pair, topology.num_nodes)
    ports = Ports(topology) if workload.crossings else None
    over = np.array([ports is not None and crossing.ports == ports.each for crossing in workload.crossings], bool)
    named = np.append(False, over)[choice]
    offset, links = routes(topology.graph, np.stack([src, dst], axis=1)[~named].astype(np.int32))
    hops, found = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    hops[~named], found[~named] = np.diff(offset), offset[:-1]
    if ports is not None and named.any():
        crossings = [workload.crossings[at - 1] for at in choice[named].tolist()]
        over_ports = ports.routes(list(zip(src[named].tolist(), dst[named].tolist(), crossings, strict=True)))
        hops[named] = [len(route) for route in over_ports]
        found[named] = len(links) + np.append(0, np.cumsum(hops[named]))[:-1]
        links = np.concatenate([links, *over_ports])
    hops = hops[of]
    route_offset = np.append(0, np.cumsum(hops))
    return Routes(route_offset, links[np.repeat(found[of] - route_offset[:-1], hops) + np.arange(route_offset[-1])])


def port_notes(crossings: Iterable[Crossing], topology: Topology) -> tuple[str, ...]:
    """What to say of messages that cannot take the ports they name."""
    wanted = {crossing.ports for crossing in crossings}
    if not wanted or wanted == {Ports(topology).each}:
        return ()
    return (f"{topology.name} has no {max(wanted)} NICs a machine: messages between machines take the shortest routes",)
