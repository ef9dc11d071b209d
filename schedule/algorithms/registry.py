"""The list of native algorithms, and how their moves become a schedule on a topology."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.core.errors import ScheduleError
from hocket.schedule.algorithms.direct import KINDS as DIRECT_KINDS
from hocket.schedule.algorithms.direct import direct
from hocket.schedule.algorithms.double_binary_tree import KINDS as DOUBLE_BINARY_TREE_KINDS
from hocket.schedule.algorithms.double_binary_tree import double_binary_tree
from hocket.schedule.algorithms.halving_doubling import KINDS as HALVING_DOUBLING_KINDS
from hocket.schedule.algorithms.halving_doubling import halving_doubling
from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.algorithms.ring import KINDS as RING_KINDS
from hocket.schedule.algorithms.ring import ring
from hocket.schedule.collective import Collective, Kind
from hocket.schedule.schedule import Schedule
from hocket.topology import Topology, routes

__all__ = ["ALGORITHMS", "Algorithm", "build"]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A native algorithm: the kinds it can do, and its moves for a collective of one of them."""

    kinds: tuple[Kind, ...]
    moves: Callable[[Collective], Moves]


ALGORITHMS = {
    "ring": Algorithm(RING_KINDS, ring),
    "direct": Algorithm(DIRECT_KINDS, direct),
    "halving_doubling": Algorithm(HALVING_DOUBLING_KINDS, halving_doubling),
    "double_binary_tree": Algorithm(DOUBLE_BINARY_TREE_KINDS, double_binary_tree),
}


def build(name: str, collective: Collective, topology: Topology, group: NDArray[np.int32] | None = None) -> Schedule:
    """The untimed schedule of native algorithm `name` (a key of ALGORITHMS), over shortest routes.

    `group` (int32, length collective.num_ranks) places the collective's ranks on the topology; None: rank i is rank i.
    Raises ScheduleError for an unknown name, a kind or number of ranks the algorithm cannot do, or more ranks than the
    topology has, and Infeasible when two ranks that must talk are not connected.
    """
    if name not in ALGORITHMS:
        raise ScheduleError(f"'{name}' is not a native algorithm; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[name]
    if collective.kind not in algorithm.kinds:
        raise ScheduleError(f"{name} does {', '.join(algorithm.kinds)}, not {collective.kind}; try direct")
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    if len(ranks) != collective.num_ranks or ranks.max() >= topology.num_ranks:
        raise ScheduleError(
            f"{collective.describe()} does not fit {topology.name} with {topology.num_ranks} ranks"
            + ("" if group is None else f" and the group {ranks.tolist()}")
        )
    moves = algorithm.moves(collective)
    pairs, pair = np.unique(moves.src * collective.num_ranks + moves.dst, return_inverse=True)
    src, dst = np.divmod(pairs, collective.num_ranks)
    route_offset, route_links = routes(topology.graph, zip(ranks[src], ranks[dst], strict=True))
    order = np.lexsort((pair, moves.step))
    step = moves.step[order]
    return Schedule(
        collective=collective,
        topology=topology,
        route_offset=route_offset,
        route_links=route_links,
        chunk=moves.chunk[order].astype(np.int32),
        route=pair[order].astype(np.int32),
        reduce=moves.reduce[order],
        start_ps=step,
        finish_ps=step + 1,
        timed=False,
        blocking=False,
        bound=None,
        generator=name,
        seed=None,
        group=group,
    )
