"""Adaptive routing, message by message."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]

ROUTINGS = (
    RoutingPolicy(
        name="adaptive",
        summary="a message takes, when it leaves, the shortest path whose busiest link has the least under way",
        example="hocket simulate all_to_all -s 64MiB -t fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
        " --routing adaptive",
        engine=EngineRouting.SPRAY,
        chooses=True,
    ),
)
