"""Destination modulo number of links: the tables of static fat trees."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]

ROUTINGS = (
    RoutingPolicy(
        name="d_mod_k",
        summary="of K shortest links a node takes the (destination mod K)-th, cables side by side after all switches;"
        " further up destination // switches counts; down the same cables; ranks are numbered leaf by leaf",
        source="Zahavi, D-Mod-K routing, 2010",
        example="hocket simulate all_to_all -s 64MiB -t fat_tree:8x4,spines=8,bandwidth=50GB/s,latency=500ns"
        " --routing d_mod_k",
        engine=EngineRouting.MODULO,
    ),
)
