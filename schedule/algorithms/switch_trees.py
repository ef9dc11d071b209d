"""Trees that join ranks over switches that compute."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule.algorithms.place import Place
from hocket.schedule.algorithms.trees import Tree
from hocket.topology import Topology, routes

__all__ = ["SwitchTree", "switch_trees"]


@dataclass(frozen=True)
class SwitchTree:
    """`edges` between nodes of a collective (ranks, then switches; see Moves), of which switch `root` is the top."""

    root: int
    edges: tuple[tuple[int, int], ...]

    def rooted_at(self, node: int) -> Tree:
        """The same tree with any of its nodes as the root."""
        neighbours = defaultdict(list)
        for one, other in self.edges:
            neighbours[one].append(other)
            neighbours[other].append(one)
        columns, reached, queue = [], {node}, deque([(0, node)])
        while queue:
            step, parent = queue.popleft()
            for child in neighbours[parent]:
                if child not in reached:
                    reached.add(child)
                    columns.append((step, parent, child))
                    queue.append((step + 1, child))
        return Tree(*np.array(columns, np.int64).reshape(-1, 3).T)


def switch_trees(algorithm: str, place: Place, members: Sequence[int]) -> list[SwitchTree]:
    """A tree over collective ranks `members` for every switch to which the way from the farthest of them is shortest,
    made of the shortest ways there. Raises ScheduleError, in the name of `algorithm`, where there is no such switch."""
    topology, ranks = place.topology, place.ranks[list(members)]
    candidates = _reached(topology, int(ranks[0]))
    node_of = {int(node): number for number, node in enumerate(place.nodes)}
    trees: dict[int, list[SwitchTree]] = defaultdict(list)
    for switch in candidates:
        offset, links = routes(topology.graph, [(int(rank), switch) for rank in ranks])
        inner = np.delete(topology.dst[links], offset[1:] - 1)
        if (inner < topology.num_ranks).any():
            continue  # the way leads through a rank
        edges = set()
        for rank, begin, end in zip(ranks.tolist(), offset[:-1], offset[1:], strict=True):
            stops = [rank, *(node for node in topology.dst[links[begin:end]].tolist() if node in node_of)]
            edges |= {(node_of[low], node_of[high]) for low, high in pairwise(stops)}
        trees[int(np.diff(offset).max())].append(SwitchTree(node_of[switch], tuple(sorted(edges))))
    if not trees:
        raise ScheduleError(
            f"{algorithm} needs a switch that adds and copies, which rank {ranks[0]} and {len(ranks) - 1} others reach "
            f"over switches; {topology.name} has none: declare them (nvls=1 for NVSwitches, sharp=1 for the fabric,"
            " in_network in a file), or use an algorithm without"
        )
    return trees[min(trees)]


def _reached(topology: Topology, rank: int) -> list[int]:
    """The switches that compute and can be reached from a rank over switches."""
    after = defaultdict(list)
    for src, dst in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        if dst >= topology.num_ranks and (src == rank or src >= topology.num_ranks):
            after[src].append(dst)
    reached, queue = {rank}, deque([rank])
    while queue:
        for node in after[queue.popleft()]:
            if node not in reached:
                reached.add(node)
                queue.append(node)
    return sorted(reached & set(topology.in_network))
