"""What there is to say of a routing policy, and a policy as it is chosen for a topology."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Routing as EngineRouting
from hocket._core.topology import find_paths
from hocket.base.errors import TopologyError
from hocket.base.registry import Entry
from hocket.topology.model import Topology
from hocket.topology.paths import Paths
from hocket.topology.routing import routes

__all__ = ["FabricRouting", "RoutingPolicy"]


def _fits(topology: Topology) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class RoutingPolicy(Entry):
    """`engine`: how the engine finds paths. `spreads`: it divides messages among several paths; `chooses`: a message
    takes the least loaded of several; `seeded`: it depends on a seed. `symmetric`: under a symmetry of the topology
    paths of images are images of paths. `why_not` says why it is none for a topology (None: it is)."""

    engine: EngineRouting
    spreads: bool = False
    chooses: bool = False
    seeded: bool = False
    symmetric: bool = False
    why_not: Callable[[Topology], str | None] = _fits


@dataclass(frozen=True)
class FabricRouting:
    """A policy, with its seed, as a topology's messages follow it."""

    policy: RoutingPolicy
    seed: int = 0

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"{self.policy.name}:seed={self.seed}" if self.policy.seeded and self.seed else self.policy.name

    def paths(self, topology: Topology, pairs: NDArray[np.integer], flow: NDArray[np.int64] | None = None) -> Paths:
        """The paths of each pair of nodes (rows: source, destination); `flow` tells flows of one pair apart.

        Raises Infeasible, naming the pair, where there is no route, and TopologyError for a policy that is none for the
        topology.
        """
        if (reason := self.policy.why_not(topology)) is not None:
            raise TopologyError(f"routing {self.policy.name} is not for {topology.name}: {reason}")
        if not self._looks_further(topology):
            return Paths.single(routes(topology.graph, np.asarray(pairs, np.int32)))
        src, dst = (np.ascontiguousarray(column, np.int32) for column in np.reshape(pairs, (-1, 2)).T)
        flow = np.zeros(len(src), np.int64) if flow is None else flow
        paths = Paths(*find_paths(topology.graph, src, dst, flow, self.policy.engine, self.seed, topology.link_class))
        if self.policy.engine == EngineRouting.DIMENSION:
            _require_order(paths, topology, src, dst)
        return paths

    def splits(self, topology: Topology) -> bool:
        """Whether messages may go in parts."""
        return self.policy.spreads and self._looks_further(topology)

    def _looks_further(self, topology: Topology) -> bool:
        """Whether the engine has to look at more than the lowest link of a node."""
        if self.policy.engine == EngineRouting.PARALLEL:
            ends = topology.src.astype(np.int64) * topology.num_nodes + topology.dst
            return len(np.unique(ends)) < len(ends)
        return self.policy.engine != EngineRouting.SHORTEST


def _require_order(paths: Paths, topology: Topology, src: NDArray[np.int32], dst: NDArray[np.int32]) -> None:
    """Raises TopologyError where a path goes back to a lower dimension, as around links that are gone."""
    number = np.array([int(name) for name in topology.classes])[topology.link_class][paths.links]
    back = np.append(False, number[1:] < number[:-1])
    back[paths.link_offset[:-1][np.diff(paths.link_offset) > 0]] = False
    if not back.any():
        return
    pair = int(np.searchsorted(paths.link_offset, np.flatnonzero(back)[0], side="right")) - 1
    raise TopologyError(
        f"routing dimension_order is not for {topology.name}: no shortest route from rank {src[pair]} to rank"
        f" {dst[pair]} takes dimension after dimension; take another routing, such as shortest"
    )
