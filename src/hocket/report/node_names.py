"""What pages call nodes and links: by what they are in their node, as pictures do."""

from collections.abc import Sequence
from functools import cached_property

from hocket.report.topology_parts import Parts, Role, parts_of
from hocket.topology import Topology

__all__ = ["TIERS", "NodeNames"]

TIERS = ("leaf", "spine", "core")
"""Switches of a fabric, by how far they are from the nodes."""


class NodeNames:
    """Names of the nodes and links of a topology: `NVSwitch of node 3`, `leaf 0`, `rank 5 → NIC 5 of node 0`."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    @cached_property
    def parts(self) -> Parts:
        """What each node is."""
        return parts_of(self.topology)

    @cached_property
    def names(self) -> Sequence[str]:
        """Of every node, by its id."""
        parts, ranks = self.parts, self.topology.num_ranks
        places: dict[tuple[int, Role, int], list[int]] = {}
        for node in range(ranks, self.topology.num_nodes):
            places.setdefault((parts.machine[node], parts.role[node], parts.tier.get(node, 0)), []).append(node)
        names = [f"rank {node}" for node in range(ranks)] + [""] * (self.topology.num_nodes - ranks)
        nodes = len({of for of in parts.machine if of >= 0})
        for (machine, role, tier), members in places.items():
            word = self._tier(tier) if role == Role.FABRIC else role.value
            where = f" of node {machine}" if machine >= 0 and nodes > 1 else ""
            for at, node in enumerate(members):
                names[node] = word + f" {at}" * (len(members) > 1) + where
        return names

    def link(self, link: int) -> str:
        """`rank 3 → NVSwitch of node 0 (nvlink)`."""
        topology = self.topology
        ends = f"{self.names[topology.src[link]]} → {self.names[topology.dst[link]]}"
        return ends + self.class_words(topology.classes[topology.link_class[link]])

    def sort(self, link: int) -> str:
        """What it shares with the links that are alike: `rank → NVSwitch (nvlink)`."""
        topology = self.topology
        words = [self._sort_of(int(node)) for node in (topology.src[link], topology.dst[link])]
        return " → ".join(words) + self.class_words(topology.classes[topology.link_class[link]])

    @staticmethod
    def class_words(name: str) -> str:
        """A class behind a link's name; `link` is the class of links of which there is one sort."""
        return f" (dimension {name})" if name.isdecimal() else f" ({name})" if name != "link" else ""

    def _sort_of(self, node: int) -> str:
        role = self.parts.role[node]
        if node < self.topology.num_ranks:
            return "rank"
        return self._tier(self.parts.tier.get(node, 0)) if role == Role.FABRIC else role.value

    def _tier(self, tier: int) -> str:
        return TIERS[min(tier, 3) - 1] if max(self.parts.tier.values(), default=0) > 1 and tier else "switch"
