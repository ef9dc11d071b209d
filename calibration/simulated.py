"""What the simulator says of a curve's calls."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.curve import MeasuredCurve
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.simulator.algorithm_choice import DEFAULT_ALGORITHMS
from hocket.topology import Topology

__all__ = ["algorithm_of", "is_leading", "simulated_us"]

_HIERARCHICAL = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER)


def algorithm_of(kind: str, nodes: int) -> str:
    """The native algorithm that stands for NCCL's: the ring on one machine, rings in and between several."""
    return "hierarchical" if nodes > 1 and kind in _HIERARCHICAL else DEFAULT_ALGORITHMS[kind]


def is_leading(curve: MeasuredCurve, topology: Topology) -> bool:
    """Whether its ranks are the first of the topology, which are those that are simulated."""
    machines = topology.machine[: curve.ranks].tolist()
    return len(machines) == curve.ranks and len(set(machines)) == curve.nodes


def simulated_us(curve: MeasuredCurve, topology: Topology, size_bytes: Iterable[int]) -> NDArray[np.float64]:
    """Microseconds of a collective on the topology's first ranks, by `algorithm_of`."""
    algorithm = algorithm_of(curve.kind, curve.nodes)
    calls = (Collective(Kind(curve.kind), curve.ranks, int(size)) for size in size_bytes)
    return np.array([simulate_collective(call, topology, algorithm).time_ps / 1e6 for call in calls])
