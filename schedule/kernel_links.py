"""The links of a topology as messages of a runtime's kernels see them."""

from dataclasses import replace

import numpy as np

from hocket.schedule.protocols import Protocol
from hocket.topology import Topology, rank_routes

__all__ = ["with_kernels"]


def with_kernels(topology: Topology, protocol: Protocol) -> Topology:
    """The same links (a link's id keeps its meaning), on which a route between two ranks takes a step's latency where
    its own is less, and which carry what the protocol leaves of their bandwidth to data. So a search on them counts
    steps as the kernels do; launches and the bandwidth of thread blocks are left out.

    A step's latency is put on the first link of a route. Where routes inside a machine and out of it share that, those
    inside count.
    """
    bandwidth = topology.bandwidth * protocol.wire.denominator // protocol.wire.numerator
    pace, latency = protocol.pace, topology.latency_ps.copy()
    if pace is not None:
        routes = rank_routes(topology.graph)
        first, last = routes.links[routes.offset[:-1]], routes.links[routes.offset[1:] - 1]
        own = np.add.reduceat(topology.latency_ps[routes.links], routes.offset[:-1])
        machine = topology.machine
        inside = machine[topology.src[first]] == machine[topology.dst[last]]
        for chosen, step_ps in (
            (~inside, pace.between_ps),
            (inside, pace.inside_ps),
        ):  # the second overwrites the first
            more = np.full(topology.num_links, -1, np.int64)
            np.maximum.at(more, first[chosen], np.maximum(step_ps - own[chosen], 0))
            latency = np.where(more >= 0, topology.latency_ps + more, latency)
    return replace(topology, latency_ps=latency, bandwidth=np.maximum(bandwidth, 1))
