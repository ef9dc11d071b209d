"""`fat_tree:8x4,spines=2`."""

from collections.abc import Sequence

from hocket.base.errors import FormatError
from hocket.topology.graphs.builder import GraphBuilder, Values, near_and_far, require_links, two_sizes
from hocket.topology.model import Topology

__all__ = ["GRAPHS", "fat_tree"]


def fat_tree(name: str, sizes: Sequence[int], bandwidth: Values, latency: Values, spines: int = 1) -> Topology:
    """`fat_tree:8x4,spines=2`: 4 leaf switches with 8 ranks each; every leaf has a link up to, and one down from, every
    spine switch.

    Values: rank - leaf, leaf - spine. A leaf is oversubscribed ranks * bandwidth[0] : spines * bandwidth[1]. Nodes
    after the ranks: leaves, spines. Classes of links: `leaf`, `spine`. Leaves spray.
    """
    members, leaves = two_sizes(sizes, "RANKSxLEAVES, such as fat_tree:8x4")
    if spines < 1:
        raise FormatError(f"spines={spines}: a fat tree needs at least one spine switch")
    ranks = members * leaves
    require_links(2 * (ranks + leaves * spines))
    (low, high), (low_ps, high_ps) = near_and_far("bandwidth", bandwidth), near_and_far("latency", latency)
    links = []
    for rank in range(ranks):
        leaf = ranks + rank // members
        links += [(rank, leaf, low_ps, low), (leaf, rank, low_ps, low)]
    for leaf in range(ranks, ranks + leaves):
        for spine in range(ranks + leaves, ranks + leaves + spines):
            links += [(leaf, spine, high_ps, high), (spine, leaf, high_ps, high)]
    link_class = ["leaf"] * (2 * ranks) + ["spine"] * (2 * leaves * spines)
    return Topology.from_links(name, ranks, links, num_switches=leaves + spines, link_class=link_class, routing="spray")


GRAPHS = (
    GraphBuilder(
        fat_tree,
        name="fat_tree",
        summary="4 leaf switches of 8 ranks; every leaf is linked to every spine. Values: rank - leaf, leaf - spine;"
        " the leaf is oversubscribed 8 x first : 2 x second bandwidth",
        example="fat_tree:8x4,spines=2",
    ),
)
