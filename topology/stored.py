"""A topology as the JSON of results has it: whoever wrote that, it is checked before it is shown."""

from typing import Annotated

import msgspec
import numpy as np

from hocket.topology.model import Dimension, Topology

__all__ = ["LinksForm", "TopologyForm", "stored_links", "stored_topology", "topology_of"]

_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class TopologyForm(msgspec.Struct):
    """All of it but its links. `node_of_rank` of the cluster; `in_network`: switches that compute."""

    name: str
    switches: _Number
    node_of_rank: list[_Number]
    in_network: list[_Number]
    dimensions: list[Dimension]
    fingerprint: str


class LinksForm(msgspec.Struct):
    """Columns of its links, bytes/s and picoseconds."""

    src: list[_Number]
    dst: list[_Number]
    bandwidth: list[_Number]
    latency_ps: list[_Number]
    class_name: list[str] = msgspec.field(name="class")


def stored_topology(topology: Topology) -> TopologyForm:
    """What is kept of a topology beside its links."""
    return TopologyForm(
        name=topology.name,
        switches=topology.num_nodes - topology.num_ranks,
        node_of_rank=topology.machine.tolist(),
        in_network=[*topology.in_network],
        dimensions=[*topology.dimensions],
        fingerprint=topology.fingerprint,
    )


def stored_links(topology: Topology) -> LinksForm:
    """Its links."""
    return LinksForm(
        src=topology.src.tolist(),
        dst=topology.dst.tolist(),
        bandwidth=topology.bandwidth.tolist(),
        latency_ps=topology.latency_ps.tolist(),
        class_name=[topology.classes[at] for at in topology.link_class.tolist()],
    )


def topology_of(stored: TopologyForm, links: LinksForm) -> Topology:
    """The topology again. Raises ValueError or HocketError where its parts do not fit each other."""
    columns = (links.src, links.dst, links.latency_ps, links.bandwidth)
    if len({len(column) for column in (*columns, links.class_name)}) > 1:
        raise ValueError("columns of links of different lengths")
    if stored.switches > len(links.src):
        raise ValueError("switches without links")
    if sum(links.bandwidth) >= 2**62:
        raise ValueError("bandwidths that nothing has")
    ends = (np.array(column, np.int64).tolist() for column in columns)
    topology = Topology.from_links(
        stored.name,
        len(stored.node_of_rank),
        list(zip(*ends, strict=True)),
        num_switches=stored.switches,
        machine=stored.node_of_rank,
        link_class=links.class_name,
        dimensions=tuple(stored.dimensions),
        in_network=stored.in_network,
    )
    if topology.fingerprint != stored.fingerprint:
        raise ValueError("its links are not those of its topology")
    return topology
