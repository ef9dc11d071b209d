"""Which links the messages of a workload take."""

from collections.abc import Iterable

import numpy as np

from hocket.simulator.workload import Workload
from hocket.topology import Crossing, FabricRouting, Paths, Ports, Topology

__all__ = ["message_paths", "port_notes"]


def message_paths(workload: Workload, topology: Topology, routing: FabricRouting) -> Paths:
    """The paths of each message of a placed workload, by the routing; over the ports that its crossing names where the
    topology has such. Messages of one pair and channel are a flow."""
    flow = workload.message_channel if routing.policy.seeded else np.zeros_like(workload.message_channel)
    columns = (workload.message_src, workload.message_dst, 1 + workload.message_crossing, flow)
    distinct, of = np.unique(np.stack(columns, dtype=np.int64), axis=1, return_inverse=True)
    src, dst, choice, flow = distinct
    ports = Ports(topology) if workload.crossings else None
    over = np.array([ports is not None and crossing.ports == ports.each for crossing in workload.crossings], bool)
    named = np.append(False, over)[choice]
    free = np.flatnonzero(~named)
    parts = [routing.paths(topology, np.stack([src, dst], axis=1)[free], flow[free])]
    if ports is not None and named.any():
        crossings = [workload.crossings[at - 1] for at in choice[named].tolist()]
        messages = list(zip(src[named].tolist(), dst[named].tolist(), crossings, strict=True))
        parts.append(ports.paths(messages, routing, flow[named]))
    at = np.empty(len(src), np.int64)
    at[free], at[named] = np.arange(len(free)), len(free) + np.arange(np.count_nonzero(named))
    return Paths.joined(parts).picked(at[of.ravel()])


def port_notes(crossings: Iterable[Crossing], topology: Topology) -> tuple[str, ...]:
    """What to say of messages that cannot take the ports they name."""
    wanted = {crossing.ports for crossing in crossings}
    if not wanted or wanted == {Ports(topology).each}:
        return ()
    return (
        f"{topology.name} does not have the {max(wanted)} NICs per node that the program names: messages between nodes"
        " take the shortest routes",
    )
