"""What RCCL's model says that a collective takes on one node of AMD's GPUs, and where it says nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hocket.base.collectives import nccl_name
from hocket.base.errors import TopologyError
from hocket.base.late_imports import late_imports
from hocket.schedule import Kind

with late_imports(__name__):
    from hocket.nccl.names import COLLECTIVES
    from hocket.nccl.rccl import RcclModel
    from hocket.topology.machines.hosts import Hosts

__all__ = ["RcclTime", "rccl_of", "rccl_time"]

_PS = 10**6  # of a us


@dataclass(frozen=True, slots=True)
class RcclTime:
    """The algorithm that RCCL takes, and how long its model says that it takes (ps)."""

    algorithm: str
    time_ps: int


def rccl_of(hosts: Hosts) -> tuple[RcclModel | None, str]:
    """RCCL on these hosts, or why its times are not taken: over several nodes its model weighs algorithms against each
    other by factors that are no times."""
    if hosts.nodes > 1:
        return None, "its model's times are of one node"
    try:
        return RcclModel(hosts.machine), ""
    except TopologyError as error:
        return None, str(error)


def rccl_time(model: RcclModel, kind: Kind, size_bytes: int) -> RcclTime | None:
    """None where RCCL has no such collective, or its model no time of it."""
    name = nccl_name(kind)
    if name not in COLLECTIVES:
        return None
    found = model.choose(name, [size_bytes])
    time_us = float(found.time_us[0])
    return None if math.isnan(time_us) else RcclTime(f"RCCL's model {found.name(0)}", round(time_us * _PS))
