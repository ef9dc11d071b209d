"""Where machines meet the fabric: the ports of their NICs, and routes over given ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.topology.model import Topology
from hocket.topology.routing import routes
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

    def routes(self, messages: Sequence[tuple[int, int, Crossing]]) -> list[NDArray[np.int32]]:
        """The links of each message (source, target, crossing of `each` ports): the cheapest ones inside machines and
        inside the fabric. Raises Infeasible where there is no way."""
        topology = self._topology
        inside: list[tuple[int, int]] = []
        between: list[tuple[int, int]] = []
        ends = []
        for src, dst, crossing in messages:
            out = self._out[int(self._machine[src])][crossing.leave]
            into = self._into[int(self._machine[dst])][crossing.arrive]
            inside += [(src, crossing.through), (crossing.through, int(topology.src[out]))]
            inside.append((int(topology.dst[into]), dst))
            between.append((int(topology.dst[out]), int(topology.src[into])))
            ends.append((np.array([out], np.int32), np.array([into], np.int32)))
        hops = _routes(keep_links(topology, self._inside), inside)
        near = [self._inside[each].astype(np.int32) for each in hops]
        far = _routes(topology, between)
        return [
            np.concatenate([near[3 * at], near[3 * at + 1], out, far[at], into, near[3 * at + 2]])
            for at, (out, into) in enumerate(ends)
        ]


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
