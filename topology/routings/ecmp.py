"""Equal-cost multi-path."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]

ROUTINGS = (
    RoutingPolicy(
        name="ecmp",
        summary="each node hashes a flow (pair and channel) to one of its shortest links; ecmp:seed=N hashes otherwise",
        source="RFC 2992",
        example="hocket simulate all_to_all -s 64MiB -t fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
        " --routing ecmp:seed=3",
        engine=EngineRouting.ECMP,
        seeded=True,
    ),
)
