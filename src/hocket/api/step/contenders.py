"""Whose collectives a job could run by: as it was asked for, native ones, synthesized ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.api.progress import Progress
from hocket.api.simulate.job import GroupCalls, SimulatedJob
from hocket.api.simulate.library import StockMachine
from hocket.api.step.synthesized import Programs, synthesized
from hocket.chakra.roles import kinds_of_traces
from hocket.schedule import NAMED_KINDS, Schedule
from hocket.simulator import Prediction
from hocket.simulator.algorithm_choice import AUTO

__all__ = ["Contenders", "runs_natively"]

_MOST_NODES = 1 << 22  # of a job that is simulated by native algorithms beside what was asked for: a minute


@dataclass(eq=False)
class Contenders:
    """The job as it was `asked` for and by native algorithms (None: these are what was asked for), launched alike; by
    each of the synthesized `programs` alone, in picoseconds, and by all of them that gain something."""

    job: SimulatedJob
    spec: str
    asked: Prediction
    native: Prediction | None
    programs: list[tuple[Programs, int]] = field(default_factory=list)
    not_tried: list[tuple[str, str]] = field(default_factory=list)
    together_ps: int | None = None

    @classmethod
    def of(cls, job: SimulatedJob, spec: str, asked: Prediction, progress: Progress) -> Contenders:
        machine = job.machine(spec)
        if runs_natively(job, machine):
            return cls(job, spec, asked, None)
        nodes = sum(len(trace) * count for trace, count in kinds_of_traces(job.traces))
        if nodes > _MOST_NODES:
            why = f"the job has {nodes:,} nodes, and they are simulated message by message (--algorithm auto does it)"
            return cls(job, spec, asked, None, not_tried=[("native algorithms", why)])
        progress.status("the job by native algorithms")
        return cls(job, spec, asked, job.natively_on(spec))

    def synthesize(self, purposes: Mapping[str, str], progress: Progress) -> None:
        """Adds what is synthesized for the job's dominant collectives. `purposes` are those of its groups."""
        useful: dict[GroupCalls, Schedule] = {}
        for found in synthesized(self.asked, purposes, progress):
            if not isinstance(found, Programs):
                self.not_tried.append(found)
                continue
            time_ps = self.job.on(self.spec, schedules=found.schedules).time_ps
            self.programs.append((found, time_ps))
            if time_ps < self.asked.time_ps:
                useful |= found.schedules
        if self.programs:
            alone = [time_ps for _, time_ps in self.programs if time_ps < self.asked.time_ps]
            self.together_ps = min([self.asked.time_ps, *alone])
            if len(alone) > 1:
                together_ps = self.job.on(self.spec, schedules=useful).time_ps
                self.together_ps = min(self.together_ps, together_ps)

    def rows(self) -> tuple[tuple[str, int], ...]:
        """Names and times of the whole job, and the bound."""
        rows = [(self._first, self.asked.time_ps)]
        if self.native is not None:
            rows.append(("native algorithms, the fastest on its links", self.native.time_ps))
        if self.together_ps is not None:
            rows.append(("synthesized where they gain, else as the first", self.together_ps))
        return (*rows, ("the bound", self.asked.bound_ps))

    @property
    def _first(self) -> str:
        machine = self.job.machine(self.spec)
        if machine.nccl is not None:
            partly = self.job.asked and not isinstance(self.job.asked, str)
            return "the stock library" + (" and the algorithms asked for" if partly else "")
        if runs_natively(self.job, machine):
            return "native algorithms, the fastest on its links"
        return "the algorithms asked for" if self.job.asked else "native algorithms, rings and direct messages"


def runs_natively(job: SimulatedJob, machine: StockMachine) -> bool:
    """Whether what was asked for is native algorithms, those that are fastest on the links."""
    by_kind = job.algorithms(machine)
    return ({by_kind} if isinstance(by_kind, str) else {by_kind.get(kind) for kind in NAMED_KINDS}) == {AUTO}
