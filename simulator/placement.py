"""Which rank of the topology each rank of a job sits on."""

import re
from collections.abc import Sequence

import numpy as np

from hocket.base.errors import SimulationError
from hocket.base.reading import read_text
from hocket.topology import Topology

__all__ = ["check_placement", "parse_placement"]

_ROUND_ROBIN = "round_robin"
_LIST = re.compile(r"\s*\[?\s*([0-9]{1,9}(?:[\s,]+[0-9]{1,9})*)\s*,?\s*\]?\s*")


def parse_placement(text: str, topology: Topology, num_ranks: int) -> tuple[int, ...]:
    """Topology rank of each rank of a job: a list such as `3,1,2,0`, a file with one, or `round_robin`, the topology's
    machines in turn.

    Raises SimulationError for a file with anything else, and FormatError when it cannot be read.
    """
    if text == _ROUND_ROBIN:
        order = np.lexsort((topology.machine, np.array(_place_in_machine(topology))))
        return tuple(order[:num_ranks].tolist())
    listed = _LIST.fullmatch(text) or _LIST.fullmatch(read_text(text))
    if listed is None:
        raise SimulationError(
            f"placement {text}: expected topology ranks such as 3,1,2,0, one for each rank of the job"
        )
    return tuple(map(int, re.findall("[0-9]+", listed[1])))


def check_placement(placement: Sequence[int], num_ranks: int, topology: Topology) -> tuple[int, ...]:
    """The placement. Raises SimulationError unless it has a different rank of the topology for each rank of the job."""
    used = tuple(placement)
    if len(used) != num_ranks:
        raise SimulationError(f"the placement has {len(used)} places for the {num_ranks} ranks of the job")
    outside = [place for place in used if not 0 <= place < topology.num_ranks]
    if outside:
        raise SimulationError(f"the placement names rank {outside[0]}; {topology.name} has {topology.num_ranks} ranks")
    if len(set(used)) < num_ranks:
        twice = next(place for at, place in enumerate(used) if place in used[:at])
        raise SimulationError(f"the placement puts two ranks on rank {twice} of the topology")
    return used


def _place_in_machine(topology: Topology) -> list[int]:
    """How many ranks of its machine come before each rank."""
    seen: dict[int, int] = {}
    places = []
    for machine in topology.machine.tolist():
        places.append(seen.get(machine, 0))
        seen[machine] = places[-1] + 1
    return places
