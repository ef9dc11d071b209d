"""Shortest routes between ranks."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import Infeasible
from hocket.topology import Topology

__all__ = ["shortest_routes"]


def shortest_routes(
    topology: Topology, src: NDArray[np.int32], dst: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The route of fewest links for each pair of ranks, as CSR of link ids. Raises Infeasible where there is none."""
    out: list[list[int]] = [[] for _ in range(topology.num_nodes)]
    for link, node in enumerate(topology.src.tolist()):
        out[node].append(link)
    ends = topology.dst.tolist()
    came: dict[int, dict[int, int]] = {}
    routes = []
    for start, goal in zip(src.tolist(), dst.tolist(), strict=True):
        if start not in came:
            came[start] = {start: -1}
            queue = deque([start])
            while queue:
                node = queue.popleft()
                for link in out[node]:
                    if ends[link] not in came[start]:
                        came[start][ends[link]] = link
                        queue.append(ends[link])
        if goal not in came[start]:
            raise Infeasible(f"{topology.name}: no path from rank {start} to rank {goal}")
        path: list[int] = []
        while goal != start:
            path.append(came[start][goal])
            goal = int(topology.src[path[-1]])
        routes.append(path[::-1])
    offset = np.cumsum([0, *map(len, routes)], dtype=np.int64)
    return offset, np.array([link for route in routes for link in route], dtype=np.int32)
