"""One route a pair."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]

ROUTINGS = (
    RoutingPolicy(
        name="shortest",
        summary="one shortest route for each pair, over the lowest link of each node; other links stay idle",
        example="hocket simulate all_to_all -s 64MiB -t fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
        " --routing shortest",
        engine=EngineRouting.SHORTEST,
        symmetric=True,
    ),
    RoutingPolicy(
        name="parallel",
        summary="the same route, divided by bandwidth among the parallel links of each hop, as bonded links do",
        example="hocket simulate all_reduce -s 64MiB -t machine.yaml --routing parallel",
        engine=EngineRouting.PARALLEL,
        spreads=True,
        symmetric=True,
    ),
)
