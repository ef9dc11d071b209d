"""Dimension order: the deadlock-free routing of meshes and tori."""

from hocket._core.topology import Routing as EngineRouting
from hocket.topology.model import Topology
from hocket.topology.routings.policy import RoutingPolicy

__all__ = ["ROUTINGS"]


def _why_not(topology: Topology) -> str | None:
    numbers = [str(number) for number in range(len(topology.dimensions))]
    if not numbers:
        return "it has no dimensions; dimension order is for meshes, tori and other products"
    if not set(topology.classes) <= set(numbers):
        return "its links are not of classes 0, 1, ... as its dimensions are"
    return None


ROUTINGS = (
    RoutingPolicy(
        name="dimension_order",
        summary="all of dimension 0, then of 1, ...; clockwise half-way around a ring",
        needs="a product of dimensions (mesh, torus, ...), whose links have the dimensions' numbers as classes",
        source="Dally and Seitz, IEEE Trans. Computers 36(5), 1987",
        example="hocket simulate all_to_all -s 64MiB -t torus:4x4,bandwidth=50GB/s,latency=500ns"
        " --routing dimension_order",
        engine=EngineRouting.DIMENSION,
        symmetric=True,
        why_not=_why_not,
    ),
)
