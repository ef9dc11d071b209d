"""Where machines meet the fabric: the ports of their NICs, and paths over given ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.topology.model import Topology
from hocket.topology.paths import Paths
from hocket.topology.routing import Routes, routes
from hocket.topology.routings.policy import FabricRouting
from hocket.topology.subset import keep_links

__all__ = ["Crossing", "Ports"]

_FABRIC = "fabric"


@dataclass(frozen=True, slots=True)
class Crossing:
    """How a message gets from one machine to another: rank `through` (the sender, or one of its machine that it hands
    the message to) sends it out of port `leave`; it comes in at port `arrive`. Each machine has `ports`, which count in
    the order of its NICs."""

    through: int
    leave: int
    arrive: int
    ports: int


class Ports:
    """The links of class `fabric` out of and into each machine, which is what other links join; a machine's k-th one
    out and k-th one in are its port k."""

    def __init__(self, topology: Topology) -> None:
        fabric = np.isin(topology.link_class, [at for at, name in enumerate(topology.classes) if name == _FABRIC])
        self._topology, self._inside = topology, np.flatnonzero(~fabric)
        self._machine = _joined(topology.num_nodes, topology.src[self._inside], topology.dst[self._inside])
        inner = np.arange(topology.num_nodes) < topology.num_ranks
        inner[topology.src[self._inside]] = inner[topology.dst[self._inside]] = True
        self._out = self._by_machine(np.flatnonzero(fabric & inner[topology.src]), topology.src)
        self._into = self._by_machine(np.flatnonzero(fabric & inner[topology.dst]), topology.dst)
        counts = {len(links) for of in (self._out, self._into) for links in of.values()}
        #: How many each machine has; 0 where that differs.
        self.each = counts.pop() if len(counts) == 1 else 0

    def _by_machine(self, links: NDArray[np.int64], node: NDArray[np.int32]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for link, machine in zip(links.tolist(), self._machine[node[links]].tolist(), strict=True):
            found.setdefault(machine, []).append(link)
        return found

    def paths(
        self, messages: Sequence[tuple[int, int, Crossing]], routing: FabricRouting, flow: NDArray[np.int64]
    ) -> Paths:
        """The paths of each message (source, target, crossing of `each` ports): inside machines over the cheapest
        links, from port to port by the routing, where `flow` tells flows of one pair apart. Raises Infeasible where
        there is no way."""
        topology = self._topology
        inside: list[tuple[int, int]] = []
        between: list[tuple[int, int]] = []
        for src, dst, crossing in messages:
            out = self._out[int(self._machine[src])][crossing.leave]
            into = self._into[int(self._machine[dst])][crossing.arrive]
            inside += [(src, crossing.through), (crossing.through, int(topology.src[out]))]
            inside.append((int(topology.dst[into]), dst))
            between.append((out, into))
        near = [self._inside[each] for each in _routes(keep_links(topology, self._inside), inside)]
        far = self._fabric_paths(between, routing, flow)
        of = np.repeat(np.arange(len(messages)), far.counts).tolist()
        links = [
            np.concatenate([near[3 * at], near[3 * at + 1], path, near[3 * at + 2]])
            for at, path in zip(of, np.split(far.links, far.link_offset[1:-1]), strict=True)
        ]
        offset = np.cumsum([0, *map(len, links)])
        single = Paths.single(Routes(offset, np.concatenate(links)))
        return single._replace(offset=far.offset, share=far.share)

    def _fabric_paths(self, between: list[tuple[int, int]], routing: FabricRouting, flow: NDArray[np.int64]) -> Paths:
        """The paths that begin with one link and end with another. Each link that ports have gets a node of its own at
        its port, so that routings tell the ports of a switch apart, as they do addresses."""
        topology = self._topology
        out, into = (np.array([links for of in side.values() for links in of]) for side in (self._out, self._into))
        copied = np.concatenate([np.arange(topology.num_links), out, into])
        at_port = topology.num_nodes + np.arange(len(out))
        port_out = dict(zip(out.tolist(), at_port.tolist(), strict=True))
        port_into = dict(zip(into.tolist(), at_port.tolist(), strict=True))
        split = replace(keep_links(topology, copied), num_nodes=topology.num_nodes + len(out))
        split.src[topology.num_links : topology.num_links + len(out)] = at_port
        split.dst[topology.num_links + len(out) :] = at_port
        pairs = np.array([(port_out[first], port_into[last]) for first, last in between], np.int32)
        found = routing.paths(split, pairs, flow)
        return found._replace(links=copied[found.links].astype(np.int32))


def _routes(topology: Topology, pairs: list[tuple[int, int]]) -> list[NDArray[np.int32]]:
    """The cheapest route of each pair; from a node to itself there is nothing to go."""
    wanted = [at for at, (src, dst) in enumerate(pairs) if src != dst]
    found = [np.zeros(0, np.int32)] * len(pairs)
    ends = np.array([pairs[at] for at in wanted], np.int32).reshape(-1, 2)
    distinct, which = np.unique(ends, axis=0, return_inverse=True)
    offset, links = routes(topology.graph, distinct)
    for at, route in zip(wanted, which.ravel().tolist(), strict=True):
        found[at] = links[offset[route] : offset[route + 1]]
    return found


def _joined(num_nodes: int, src: NDArray[np.int32], dst: NDArray[np.int32]) -> NDArray[np.int64]:
    """The least node that each is joined with."""
    least = np.arange(num_nodes)
    while True:
        before = least.copy()
        np.minimum.at(least, src, before[dst])
        np.minimum.at(least, dst, before[src])
        if np.array_equal(least, before):
            return least
