"""What `hocket topology show` tells about a topology, as plain values."""

from dataclasses import dataclass

import numpy as np

from hocket.topology.measures import (
    Cut,
    all_gather_cut,
    eccentricity_ps,
    rank_egress_bandwidth,
    rank_ingress_bandwidth,
)
from hocket.topology.model import Dimension, Topology
from hocket.topology.routing_tables import has_several_paths, has_single_spines

__all__ = ["Facts", "LinkKind", "describe"]

_SEARCH_WORK = 20_000_000  # links looked at by all searches together: about a second


@dataclass(frozen=True)
class LinkKind:
    """How many directed links share one class, latency and bandwidth."""

    count: int
    link_class: str
    latency_ps: int
    bandwidth: int


@dataclass(frozen=True)
class Facts:
    """Sizes and limits of a topology; pairs are (least, most) over the ranks, bandwidths in bytes/s.

    `in_network` counts the switches that compute. `routing` is the topology's own; `several_paths` says whether pairs
    have a choice for it, `single_spines` that a fabric's spine is one node, so that they have none.

    `diameter_ps` is the largest sum of latencies on a best route between two ranks, over the `diameter_sources` ranks
    that were looked at (all of them, evenly spread ones when the topology is large). `cut` is the tightest set of ranks
    for an all-gather, `all_gather_bandwidth` the output bytes/s of each rank that no all-gather can pass because of it.
    """

    name: str
    fingerprint: str
    ranks: int
    switches: int
    in_network: int
    machines: int
    dimensions: tuple[Dimension, ...]
    links: tuple[LinkKind, ...]
    routing: str
    several_paths: bool
    single_spines: bool
    out_degree: tuple[int, int]
    ingress: tuple[int, int]
    egress: tuple[int, int]
    diameter_ps: int
    diameter_sources: int
    cut: Cut
    all_gather_bandwidth: int
    notes: tuple[str, ...]


def describe(topology: Topology) -> Facts:
    """Measures a topology of two ranks or more that is connected (as `load` gives it)."""
    graph = topology.graph
    columns = np.stack([topology.link_class, topology.latency_ps, topology.bandwidth])
    kinds, counts = np.unique(columns, axis=1, return_counts=True)
    degree = np.bincount(topology.src, minlength=topology.num_nodes)[: topology.num_ranks]
    ingress = rank_ingress_bandwidth(graph)
    egress = rank_egress_bandwidth(graph)
    searches = int(np.clip(_SEARCH_WORK // topology.num_links, 1, topology.num_ranks))
    sources = np.arange(searches) * topology.num_ranks // searches
    cut = all_gather_cut(graph)
    return Facts(
        name=topology.name,
        fingerprint=topology.fingerprint,
        ranks=topology.num_ranks,
        switches=topology.num_nodes - topology.num_ranks,
        in_network=len(topology.in_network),
        machines=len(np.unique(topology.machine)),
        dimensions=topology.dimensions,
        links=tuple(
            LinkKind(count, topology.classes[link_class], latency, bandwidth)
            for count, (link_class, latency, bandwidth) in zip(counts.tolist(), kinds.T.tolist(), strict=True)
        ),
        routing=topology.routing,
        several_paths=has_several_paths(topology),
        single_spines=has_single_spines(topology),
        out_degree=(int(degree.min()), int(degree.max())),
        ingress=(int(ingress.min()), int(ingress.max())),
        egress=(int(egress.min()), int(egress.max())),
        diameter_ps=int(eccentricity_ps(graph, 0, sources).max()),
        diameter_sources=searches,
        cut=cut,
        all_gather_bandwidth=topology.num_ranks * cut.bandwidth // cut.ranks,
        notes=topology.notes,
    )
