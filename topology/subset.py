"""Some ranks of a topology on their own."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hocket.topology.model import Topology
from hocket.topology.naming import spans

__all__ = ["keep_links", "links_within", "subset"]


def links_within(topology: Topology, ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """The links whose ends are these ranks or switches, ascending."""
    inside = np.arange(topology.num_nodes) >= topology.num_ranks
    inside[ranks] = True
    return np.flatnonzero(inside[topology.src] & inside[topology.dst])


def keep_links(topology: Topology, links: NDArray[np.int64]) -> Topology:
    """The same nodes with some of the links, which are numbered anew in the order given."""
    return replace(
        topology,
        src=topology.src[links],
        dst=topology.dst[links],
        latency_ps=topology.latency_ps[links],
        bandwidth=topology.bandwidth[links],
        link_class=topology.link_class[links],
        dimensions=(),
    )


def subset(topology: Topology, ranks: NDArray[np.int32]) -> Topology:
    """The ranks, all switches and the links between them (`links_within`, in this order): rank i is the topology's
    `ranks[i]`. It is a product no more."""
    kept = keep_links(topology, links_within(topology, ranks))
    new = np.full(topology.num_nodes, -1, np.int32)
    new[ranks] = np.arange(len(ranks))
    new[topology.num_ranks :] = np.arange(topology.num_nodes - topology.num_ranks) + len(ranks)
    return replace(
        kept,
        name=f"ranks {spans(ranks)} of {topology.name}",
        num_ranks=len(ranks),
        num_nodes=len(ranks) + topology.num_nodes - topology.num_ranks,
        src=new[kept.src],
        dst=new[kept.dst],
        machine=topology.machine[ranks],
        in_network=tuple(int(new[switch]) for switch in topology.in_network),
    )
