"""Priorities of communications."""

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.traces.nodes import Nodes

__all__ = ["highest_priority"]


def highest_priority(
    nodes: Nodes, rows: NDArray[np.int64], group: NDArray[np.int64], num_groups: int
) -> NDArray[np.int32]:
    """The highest comm_priority among the nodes `rows` of each group; a node without one has 0."""
    priority = np.clip(nodes.column("comm_priority")[rows], 0, np.iinfo(np.int32).max)
    highest = np.zeros(num_groups, np.int64)
    np.maximum.at(highest, group, priority)
    return highest.astype(np.int32)
