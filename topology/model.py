"""The topology data model: a directed multigraph of ranks and switches, as columns."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Graph, transfer_rates
from hocket.topology.naming import link_name
from hocket.topology.partition import Partition

__all__ = ["DEFAULT_CLASS", "DEFAULT_ROUTING", "Dimension", "LinkIndex", "Topology"]

DEFAULT_CLASS = "link"
DEFAULT_ROUTING = "shortest"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a product topology; dimension 0 varies fastest over the ranks.

    `kind` is `ring`, `fully_connected`, `switch`, `mesh` or `unwound_switch`; latency and bandwidth are those of its
    links, but for an unwound switch: there `bandwidth` is that of a rank's port, which its `degree` links share.
    `in_network` says that its switches compute.
    """

    kind: str
    size: int
    latency_ps: int
    bandwidth: int
    in_network: bool = False
    degree: int = 0

    @property
    def link_bandwidth(self) -> int:
        """Bytes/s of each link."""
        return self.bandwidth // self.degree if self.degree else self.bandwidth

    @property
    def shifts(self) -> tuple[int, ...]:
        """The steps s, in the order of a rank's links, by which every rank of a line is linked to the one at
        (coordinate + s) mod size; () where the ranks differ (a mesh of more than two) or are not linked (a switch)."""
        if self.kind == "unwound_switch":
            return tuple(range(1, self.degree + 1))
        if self.kind == "fully_connected":
            return tuple(range(1, self.size))
        if self.kind in ("ring", "mesh") and self.size == 2:
            return (1,)
        return (1, self.size - 1) if self.kind == "ring" else ()


@dataclass(frozen=True, eq=False)
class LinkIndex:
    """Link ids grouped by a node: those of node v are `ids[offset[v]:offset[v+1]]` (int32), ascending."""

    offset: NDArray[np.int64]
    ids: NDArray[np.int32]

    @classmethod
    def by(cls, node: NDArray[np.int32], num_nodes: int) -> "LinkIndex":
        """The index of links by `node` of each."""
        order = np.argsort(node, kind="stable").astype(np.int32)
        return cls(np.searchsorted(node[order], np.arange(num_nodes + 1)), order)

    def of(self, node: int) -> NDArray[np.int32]:
        return self.ids[self.offset[node] : self.offset[node + 1]]


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A directed multigraph: ranks are nodes 0..num_ranks-1, switches num_ranks..num_nodes-1.

    Link columns (length L, a link's id is its position): `src`, `dst` int32 node ids; `latency_ps` int64 picoseconds;
    `bandwidth` int64 bytes per second; `link_class` int32, an index into `classes`: the names by which options choose
    links (of a product the numbers of its dimensions: "0", "1", ...). `machine` (length num_ranks, int32) is the
    machine (host) each rank sits in. `in_network` lists the switches (node ids) that compute in the network, as NVLS
    and SHARP do: chunks can stay there, to be added to each other and sent on in copies; other switches only pass on
    what they receive. `dimensions` is set when the topology is a product of dimensions. `notes` are sentences that
    every command that uses the topology prints (for example how a unit was read). `routing` is how its nodes route
    (`hocket.topology.routings`). `cluster` are the specs of the machines that its ranks are, in their order, where
    that is known: links may differ from theirs.
    """

    name: str
    num_ranks: int
    num_nodes: int
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    latency_ps: NDArray[np.int64]
    bandwidth: NDArray[np.int64]
    link_class: NDArray[np.int32]
    classes: tuple[str, ...]
    machine: NDArray[np.int32]
    dimensions: tuple[Dimension, ...] = ()
    notes: tuple[str, ...] = ()
    in_network: tuple[int, ...] = ()
    routing: str = DEFAULT_ROUTING
    cluster: tuple[str, ...] = ()

    def __repr__(self) -> str:
        switches = self.num_nodes - self.num_ranks
        return f"<Topology {self.name}: {self.num_ranks} ranks, {switches} switches, {self.num_links} links>"

    @classmethod
    def from_links(
        cls,
        name: str,
        num_ranks: int,
        links: Iterable[tuple[int, int, int, int]],
        *,
        num_switches: int = 0,
        machine: Iterable[int] | None = None,
        link_class: Sequence[str] | None = None,
        dimensions: tuple[Dimension, ...] = (),
        notes: tuple[str, ...] = (),
        in_network: Iterable[int] = (),
        routing: str = DEFAULT_ROUTING,
    ) -> "Topology":
        """A topology from (src, dst, latency_ps, bandwidth) tuples and the name of each link's class (`link` unless
        given). Raises TopologyError on a bad link."""
        columns = np.array(list(links), dtype=np.int64).reshape(-1, 4)
        names = [DEFAULT_CLASS] * len(columns) if link_class is None else link_class
        number = {name: at for at, name in enumerate(dict.fromkeys(names))}
        topology = cls(
            name=name,
            num_ranks=num_ranks,
            num_nodes=num_ranks + num_switches,
            src=columns[:, 0].astype(np.int32),
            dst=columns[:, 1].astype(np.int32),
            latency_ps=columns[:, 2].copy(),
            bandwidth=columns[:, 3].copy(),
            link_class=np.array([number[name] for name in names], np.int32),
            classes=tuple(number),
            machine=np.zeros(num_ranks, np.int32) if machine is None else np.array(list(machine), np.int32),
            dimensions=dimensions,
            notes=notes,
            in_network=tuple(in_network),
            routing=routing,
        )
        _ = topology.graph  # the engine checks every link
        return topology

    @property
    def num_links(self) -> int:
        return len(self.src)

    def link_name(self, link: int) -> str:
        """`rank 3 -> switch 12 (nvlink)`, for people."""
        return link_name(int(self.src[link]), int(self.dst[link]), self.num_ranks, self.classes[self.link_class[link]])

    @cached_property
    def graph(self) -> Graph:
        """The engine's view of the topology. Raises TopologyError when a link breaks a rule."""
        return Graph(
            self.num_ranks, self.num_nodes, self.src, self.dst, self.latency_ps, self.bandwidth, self.in_network
        )

    @cached_property
    def reversed_graph(self) -> Graph:
        """The engine's view with every link turned around; link ids keep their meaning."""
        return self.graph.reversed()

    @cached_property
    def transfer_rates(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The least and the largest bandwidth (bytes/s, length L) that transfers over each link may have: that of the
        slowest link on a way from rank to rank through switches; 0 for links that are on no such way."""
        return transfer_rates(self.graph)

    @cached_property
    def has_trunks(self) -> bool:
        """Whether some link has bandwidth for two transfers at once, each as fast as the rest of its way allows."""
        slowest, _ = self.transfer_rates
        return bool(((slowest > 0) & (2 * slowest <= self.bandwidth)).any())

    @cached_property
    def links_into(self) -> "LinkIndex":
        """The links that end at each node."""
        return LinkIndex.by(self.dst, self.num_nodes)

    @cached_property
    def links_out_of(self) -> "LinkIndex":
        """The links that start at each node."""
        return LinkIndex.by(self.src, self.num_nodes)

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """Ranks alone; machines; for a product the ranks with the same coordinate in a dimension (a plane), those in
        the lower and upper half of its coordinates, and those that differ in one dimension only (a line)."""
        rank, stride = np.arange(self.num_ranks), 1
        labels = [("rank {}", "all ranks", rank), ("node {}", "all nodes", self.machine.astype(np.int64))]
        for number, dimension in enumerate(self.dimensions):
            coordinate = rank // stride % dimension.size
            labels.append((f"plane {{}} of dimension {number}", f"all planes of dimension {number}", coordinate))
            if dimension.size > 3:
                half = (coordinate >= dimension.size // 2).astype(np.int64)
                labels.append((f"half {{}} of dimension {number}", f"both halves of dimension {number}", half))
            if len(self.dimensions) > 2:  # of two dimensions, the lines of one are the planes of the other
                line = rank - coordinate * stride
                one = f"the line of dimension {number} through rank {{}}"
                labels.append((one, f"all lines of dimension {number}", line))
            stride *= dimension.size
        return tuple(Partition.by(one, every, label, self.graph, self.reversed_graph) for one, every, label in labels)

    def reversed(self) -> "Topology":
        """The same topology with every link turned around; link ids keep their meaning."""
        return self._reversed

    @cached_property
    def _reversed(self) -> "Topology":
        return replace(self, src=self.dst, dst=self.src)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over ranks, nodes, link columns and switches that compute: equal exactly when two topologies behave
        alike."""
        digest = hashlib.sha256(f"{self.num_ranks} {self.num_nodes} {self.num_links}".encode())
        for column in (self.src, self.dst, self.latency_ps, self.bandwidth):
            digest.update(np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<")).tobytes())
        if self.in_network:
            digest.update(" ".join(map(str, sorted(self.in_network))).encode())
        return digest.hexdigest()
