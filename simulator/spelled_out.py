"""What a collective among the nodes of a job follows when it is spelled out: a program, a kernel over switches, or
waiting for a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.base.late_imports import late_imports
from hocket.schedule import Collective
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.fixed_time import FixedTime
from hocket.simulator.workload import Workload
from hocket.topology import Crossing

with late_imports(__name__):
    from hocket.schedule import Passes, Program, verify
    from hocket.simulator.kernels import KernelPasses
    from hocket.simulator.programs import program_workload

__all__ = ["CallPlan", "Programmed", "SpelledOut", "SwitchKernel"]

_Ends = tuple[NDArray[np.int32], NDArray[np.int32]]
_Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Programmed:
    """A program that a collective follows, rank r as its group's member r, and how the call is cut."""

    program: Program
    passes: Passes
    note: str | None = None
    relays: bool = False

    @property
    def algorithm(self) -> str:
        return self.program.name

    @cached_property
    def collective(self) -> Collective:
        return self.passes.collective(self.program)

    @cached_property
    def workload(self) -> Workload:
        return program_workload(self.program, self.passes)

    def ends(self, members: NDArray[np.int32]) -> _Ends:
        """Topology nodes from which and to which the workload's messages go."""
        return members[self.workload.message_src], members[self.workload.message_dst]

    def crossings(self, members: NDArray[np.int32]) -> list[Crossing]:
        """Those of the workload, of the topology's ranks."""
        return [replace(each, through=int(members[each.through])) for each in self.workload.crossings]

    def verify(self, start_ps: _Times, finish_ps: _Times) -> None:
        """Programs are proved without times."""


@dataclass(frozen=True, eq=False)
class SwitchKernel:
    """A kernel over switches that compute, placed on the ranks of the topology that are the group's members."""

    passes: KernelPasses
    note: str | None = None
    relays: bool = False

    @property
    def algorithm(self) -> str:
        return self.passes.kernel.name

    @property
    def collective(self) -> Collective:
        return self.passes.kernel.collective

    @cached_property
    def workload(self) -> Workload:
        return self.passes.workload()

    def ends(self, members: NDArray[np.int32]) -> _Ends:
        """Topology nodes from which and to which the workload's messages go."""
        return self.workload.message_src, self.workload.message_dst

    def crossings(self, members: NDArray[np.int32]) -> list[Crossing]:
        """Those of the workload, of the topology's ranks."""
        return [*self.workload.crossings]

    def verify(self, start_ps: _Times, finish_ps: _Times) -> None:
        """Raises ScheduleError where nodes that are done at these times do not bring what the collective promises."""
        verify(self.passes.schedule(start_ps, finish_ps))


SpelledOut = Programmed | SwitchKernel | FixedTime

#: What a call follows.
CallPlan = CollectivePlan | SpelledOut
