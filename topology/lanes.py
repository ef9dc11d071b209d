"""Trunks, as parallel links that carry one transfer at a time each."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.topology.model import Topology
from hocket.topology.routing import Routes
from hocket.topology.switches_as_ranks import switches_as_ranks

__all__ = ["Lanes"]


@dataclass(frozen=True, eq=False)
class Lanes:
    """A topology each of whose trunks is parallel links, its lanes, between the same nodes: as many as the fastest
    transfers that it has bandwidth for at once, each with that part of its bandwidth.

    `whole` is the topology as it is; lanes `first[l]` to `first[l + 1]` (int32, length links + 1) are its link l, often
    a single one. What is on one lane at a time may be on the trunk, so a schedule of the one is one of the other.
    """

    whole: Topology
    first: NDArray[np.int32]

    @classmethod
    def of(cls, topology: Topology) -> "Lanes | None":
        """None where no link is wide enough for two."""
        _, fastest = topology.transfer_rates
        count = np.where(fastest > 0, topology.bandwidth // np.maximum(1, fastest), 1)
        if (count == 1).all():
            return None
        return cls(topology, np.concatenate([[0], np.cumsum(count)]).astype(np.int32))

    @cached_property
    def topology(self) -> Topology:
        """The lanes as links, in the order of theirs. It is a product no more."""
        whole, link = self.whole, self.link
        return replace(
            whole,
            src=whole.src[link],
            dst=whole.dst[link],
            latency_ps=whole.latency_ps[link],
            bandwidth=whole.bandwidth[link] // np.diff(self.first)[link],
            link_class=whole.link_class[link],
            dimensions=(),
        )

    @cached_property
    def link(self) -> NDArray[np.int32]:
        """The link of `whole` that each lane is part of (int32)."""
        return np.repeat(np.arange(self.whole.num_links, dtype=np.int32), np.diff(self.first))

    def reversed(self) -> "Lanes":
        """The lanes of the reversed topology."""
        return self._reversed

    @cached_property
    def _reversed(self) -> "Lanes":
        return Lanes(self.whole.reversed(), self.first)

    def switches_as_ranks(self) -> "Lanes":
        """The lanes of the topology whose switches that compute are ranks."""
        return Lanes(switches_as_ranks(self.whole), self.first)

    def spread(self, routes: Routes) -> Routes:
        """Routes over links of `whole`, each on one lane of every trunk.

        Of the sources and destinations of the routes over a trunk, the fewer take turns on its lanes: where these are
        no more than the lanes, no two of them share one.
        """
        hops = np.repeat(np.arange(len(routes.offset) - 1), np.diff(routes.offset))
        source = self.whole.src[routes.links[routes.offset[:-1]]][hops]
        destination = self.whole.dst[routes.links[routes.offset[1:] - 1]][hops]
        lane = self.first[routes.links]
        for trunk in np.flatnonzero(np.diff(self.first) > 1):
            at = np.flatnonzero(routes.links == trunk)
            ends = [np.unique(end[at], return_inverse=True) for end in (source, destination)]
            _, turn = min(ends, key=lambda end: len(end[0]))
            lane[at] += (turn % (self.first[trunk + 1] - self.first[trunk])).astype(np.int32)
        return Routes(routes.offset, lane)
