"""One number of the ladder of network models, also in a process that may take too long."""

import time
from dataclasses import dataclass
from typing import NamedTuple

from hocket.base.errors import ScheduleError, SimulationError
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, simulate_collective
from hocket.topology import Topology

__all__ = ["CellTime", "LadderCell", "time_of"]


class CellTime(NamedTuple):
    """What a level says of an all_reduce, its lower bound, and the CPU seconds that it took beside ns-3's process."""

    time_ps: int
    bound_ps: int
    below_bound: bool
    cpu_s: float


@dataclass(frozen=True)
class LadderCell:
    """An all_reduce by one level."""

    topology: Topology
    algorithm: str
    size_bytes: int
    fidelity: Fidelity


def time_of(cell: LadderCell) -> CellTime | None:
    """What the level makes of it; None where it cannot do it, as ns-3 what is too large for it."""
    collective = Collective(Kind.ALL_REDUCE, cell.topology.num_ranks, cell.size_bytes)
    start = time.process_time()
    try:
        found = simulate_collective(collective, cell.topology, cell.algorithm, fidelity=cell.fidelity)
    except (ScheduleError, SimulationError):
        return None
    return CellTime(found.time_ps, found.bound_ps, found.below_bound, time.process_time() - start)
