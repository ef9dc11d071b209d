"""The links of a topology as messages of a runtime's kernels see them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.pace import Pace
from hocket.schedule.protocols import Protocol
from hocket.topology import Topology, rank_routes, routes
from hocket.topology.routing import Routes

__all__ = ["with_kernels", "with_reach", "with_steps"]


def with_steps(topology: Topology, pace: Pace, pairs: NDArray[np.int32] | None = None) -> Topology:
    """The same links (a link's id keeps its meaning), on which a route between two ranks takes a step's latency where
    its own is less: what kernels need beside the wire delays each message by as much, and holds no link. `pairs`: the
    ranks (..., 2) that send to each other; None: all.

    It is put on the first link of a route. Where routes inside a machine and out of it share that, those inside count.
    Where ranks pass messages on, that link is others' second as well, and other ways would be the shortest: there the
    links stay as they are.
    """
    found = _routes(topology, pairs)
    if len(found.offset) == 1 or _passes_ranks(topology, found):
        return topology
    first, inside = found.links[found.offset[:-1]], _inside(topology, found)
    own, latency = np.add.reduceat(topology.latency_ps[found.links], found.offset[:-1]), topology.latency_ps
    for chosen, step_ps in ((~inside, pace.between_ps), (inside, pace.inside_ps)):  # those inside last
        more = np.full(topology.num_links, -1, np.int64)
        np.maximum.at(more, first[chosen], np.maximum(step_ps - own[chosen], 0))
        latency = np.where(more >= 0, topology.latency_ps + more, latency)
    return replace(topology, latency_ps=latency)


def _passes_ranks(topology: Topology, found: Routes) -> bool:
    """Whether a route goes through a rank."""
    inner = np.ones(len(found.links), bool)
    inner[found.offset[:-1]] = False  # a route's first link leaves its source
    return bool((topology.src[found.links[inner]] < topology.num_ranks).any())


def with_kernels(topology: Topology, protocol: Protocol) -> Topology:
    """As `with_steps`, for all ranks; and links carry what the protocol leaves of their bandwidth to data, those inside
    machines of what kernels reach of it. So a search on them counts steps and bytes as the kernels do; launches and the
    bandwidth of thread blocks are left out."""
    seen = replace(topology, bandwidth=_share(topology.bandwidth, protocol.wire))
    return seen if protocol.pace is None else with_steps(with_reach(seen, protocol.pace), protocol.pace)


def with_reach(topology: Topology, pace: Pace) -> Topology:
    """The links that routes inside machines alone take carry what kernels reach of their bandwidth."""
    found = _routes(topology, None)
    out = np.repeat(~_inside(topology, found), np.diff(found.offset))
    only_inside = np.bincount(found.links[out], minlength=topology.num_links) == 0
    reached = np.where(only_inside, _share(topology.bandwidth, pace.inside_wire), topology.bandwidth)
    return replace(topology, bandwidth=reached)


def _share(bandwidth: NDArray[np.int64], wire: Fraction) -> NDArray[np.int64]:
    return np.maximum(bandwidth * wire.denominator // wire.numerator, 1)


def _routes(topology: Topology, pairs: NDArray[np.int32] | None) -> Routes:
    return rank_routes(topology.graph) if pairs is None else routes(topology.graph, pairs)


def _inside(topology: Topology, found: Routes) -> NDArray[np.bool_]:
    """Whether both ends of each route are on one machine."""
    ends = topology.src[found.links[found.offset[:-1]]], topology.dst[found.links[found.offset[1:] - 1]]
    same: NDArray[np.bool_] = topology.machine[ends[0]] == topology.machine[ends[1]]
    return same
