"""`dragonfly:4x5`."""

from collections.abc import Sequence

from hocket.topology.graphs.builder import GraphBuilder, Values, near_and_far, require_links, two_sizes
from hocket.topology.model import Topology

__all__ = ["GRAPHS", "dragonfly"]


def dragonfly(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values) -> Topology:
    """`dragonfly:4x5`: 5 groups of 4 ranks, each fully connected; one link each way between every two groups.

    Group i's port j leads to group (i + 1 + j) mod groups, and belongs to the group's rank j mod ranks (the palm tree
    arrangement; Camarero et al. 2014). Values: inside a group, between groups. Classes of links: `local`, `global`. A
    group counts as a machine.
    """
    members, groups = two_sizes(sizes, "RANKSxGROUPS, such as dragonfly:4x5")
    require_links(members * groups * (members - 1) + groups * (groups - 1))
    (inside, between), (inside_ps, between_ps) = near_and_far("bandwidth", bandwidth), near_and_far("latency", latency)
    local = [
        (group * members + a, group * members + b, inside_ps, inside)
        for group in range(groups)
        for a in range(members)
        for b in range(members)
        if a != b
    ]
    far = []
    for group in range(groups):
        for port in range(groups - 1):
            other, back = (group + 1 + port) % groups, groups - 2 - port
            ends = group * members + port % members, other * members + back % members
            far.append((*ends, between_ps, between))
    return Topology.from_links(
        name,
        members * groups,
        local + far,
        machine=[rank // members for rank in range(members * groups)],
        link_class=["local"] * len(local) + ["global"] * len(far),
    )


GRAPHS = (
    GraphBuilder(
        dragonfly,
        name="dragonfly",
        summary="5 groups of 4 ranks, each fully connected; one link each way between every two groups. Port j of"
        " group i leads to group (i + 1 + j) mod 5 and is on the group's rank j mod 4 (palm tree). A group counts as"
        " a machine",
        source="Camarero et al. 2014",
        example="dragonfly:4x5",
    ),
)
