"""What the machine looks like: ranks, switches and the links between them."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.topology.automorphism import link_images
    from hocket.topology.lanes import Lanes
    from hocket.topology.loading import load
    from hocket.topology.machines.ports import Crossing, Ports
    from hocket.topology.measures import (
        Cut,
        all_gather_cut,
        eccentricity_ps,
        part_ingress_bandwidth,
        rank_egress_bandwidth,
        rank_ingress_bandwidth,
    )
    from hocket.topology.model import DEFAULT_ROUTING, Dimension, Topology
    from hocket.topology.naming import link_name, node_name
    from hocket.topology.paths import WHOLE_SHARE, Paths
    from hocket.topology.routing import Routes, rank_routes, routes
    from hocket.topology.routings import ROUTINGS, FabricRouting, read_routing, routing_of
    from hocket.topology.spec import UnknownTopology
    from hocket.topology.subset import keep_links, links_within, subset
    from hocket.topology.switches_as_ranks import switches_as_ranks
    from hocket.topology.yaml_file import save

__all__ = [
    "DEFAULT_ROUTING",
    "ROUTINGS",
    "WHOLE_SHARE",
    "Crossing",
    "Cut",
    "Dimension",
    "FabricRouting",
    "Lanes",
    "Paths",
    "Ports",
    "Routes",
    "Topology",
    "UnknownTopology",
    "all_gather_cut",
    "eccentricity_ps",
    "keep_links",
    "link_images",
    "link_name",
    "links_within",
    "load",
    "node_name",
    "part_ingress_bandwidth",
    "rank_egress_bandwidth",
    "rank_ingress_bandwidth",
    "rank_routes",
    "read_routing",
    "routes",
    "routing_of",
    "save",
    "subset",
    "switches_as_ranks",
]
