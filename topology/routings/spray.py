"""Packet spray, ideal: what switches do that send packet after packet out of another link."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]

ROUTINGS = (
    RoutingPolicy(
        name="spray",
        summary="each node divides what it sends evenly among all its shortest links, parallel ones by bandwidth",
        source="Dixit et al., INFOCOM 2013",
        example="hocket simulate all_to_all -s 64MiB -t fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
        " --routing spray",
        engine=EngineRouting.SPRAY,
        spreads=True,
        symmetric=True,
    ),
)
