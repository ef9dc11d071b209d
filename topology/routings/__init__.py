"""How a fabric routes: which of the shortest paths messages take."""

import re

from hocket.base.errors import TopologyError
from hocket.base.registry import Registry
from hocket.topology.model import Topology
from hocket.topology.routings.policy import FabricRouting, RoutingPolicy

__all__ = ["ROUTINGS", "FabricRouting", "RoutingPolicy", "read_routing", "routing_of"]

# The files of this folder that hold them. A new one is one line.
_FILES = ("shortest", "ecmp", "spray", "d_mod_k", "dimension_order", "adaptive")
ROUTINGS: Registry[RoutingPolicy] = Registry.of_files(
    "routing", "hocket.topology.routings", _FILES, "ROUTINGS", TopologyError
)
_MOST_SEED = 2**63 - 1


def read_routing(text: str, place: str = "") -> FabricRouting:
    """The routing that `NAME` or, where it depends on a seed, `NAME:seed=N` says. Raises TopologyError."""
    name, separator, options = text.partition(":")
    policy = ROUTINGS.named(name, place)
    if not separator:
        return FabricRouting(policy)
    start = f"{place}: " if place else ""
    if not policy.seeded:
        seeded = ", ".join(each.name for each in ROUTINGS.values() if each.seeded)
        raise TopologyError(f"{start}routing {name} takes no options; {seeded} takes seed=N")
    found = re.fullmatch("seed=([0-9]{1,19})", options)
    if found is None or int(found[1]) > _MOST_SEED:
        raise TopologyError(f"{start}'{text}': expected {name}:seed=N, with N from 0 to 2^63 - 1")
    return FabricRouting(policy, int(found[1]))


def routing_of(topology: Topology, text: str | None = None) -> FabricRouting:
    """The routing that is asked for, else the topology's own. Raises TopologyError where it is none for the
    topology."""
    routing = read_routing(topology.routing if text is None else text)
    if (reason := routing.policy.why_not(topology)) is not None:
        raise TopologyError(f"routing {routing.policy.name} is not for {topology.name}: {reason}")
    return routing
