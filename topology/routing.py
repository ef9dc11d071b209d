"""Routes through a topology as CSR arrays: route k is `links[offset[k]:offset[k + 1]]`, link ids in travel order."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket._core import topology as engine
from hocket._core.topology import REFERENCE_BYTES, Graph

__all__ = ["REFERENCE_BYTES", "Routes", "rank_routes", "routes"]


class Routes(NamedTuple):
    """`offset` (int64, length routes + 1) and `links` (int32 link ids, length offset[-1])."""

    offset: NDArray[np.int64]
    links: NDArray[np.int32]


def routes(
    graph: Graph, pairs: Iterable[tuple[int, int]] | NDArray[np.int32], reference_bytes: int = REFERENCE_BYTES
) -> Routes:
    """One deterministic minimal route for each (source, destination) pair of nodes, in the order given.

    A link costs its latency plus the serialization of `reference_bytes`; ranks forward only where switches and direct
    links do not connect a pair; ties go to the lowest link id (dimension 0 first on meshes and tori, clockwise half-way
    around a ring). Raises Infeasible, naming the pair, when there is no route.
    """
    columns = np.array(pairs if isinstance(pairs, np.ndarray) else list(pairs), dtype=np.int32).reshape(-1, 2)
    src, dst = (np.ascontiguousarray(column) for column in columns.T)
    return Routes(*engine.routes(graph, src, dst, reference_bytes))


def rank_routes(graph: Graph, reference_bytes: int = REFERENCE_BYTES) -> Routes:
    """The routes that serve as links between ranks.

    First every direct link between two ranks, by id (without switches route k is link k); then, by destination and
    source, the cheapest route through switches for every pair of ranks that switches connect.
    """
    return Routes(*engine.rank_routes(graph, reference_bytes))
