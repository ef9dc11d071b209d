"""A simulation's request with what its fields mean."""

from dataclasses import dataclass
from functools import lru_cache

from hocket.api.progress import Progress
from hocket.api.simulate.options import require_classes
from hocket.api.simulate.request import Simulation
from hocket.base.reading import content_digest
from hocket.simulator import Disturbance, Fidelity
from hocket.topology import Topology, failures, load

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """What all sorts of simulations need."""

    request: Simulation
    fidelity: Fidelity
    disturbance: Disturbance
    progress: Progress

    def topology(self, spec: str) -> Topology:
        """The topology that `spec` names, less what is degraded. Raises RequestError for classes of links it lacks."""
        found = _loaded(spec, content_digest(spec), tuple(self.request.disturbances.degrade))
        require_classes(self.fidelity, found)
        return found


@lru_cache(maxsize=16)
def _loaded(spec: str, content: str, degraded: tuple[str, ...]) -> Topology:
    """The topology; `content` tells a file from what it was before."""
    topology = load(spec)
    return failures.degrade(topology, degraded) if degraded else topology
