"""What-ifs of a job's step: one thing is changed, and the job simulated again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from hocket.api.generate.llm import generated
from hocket.api.generate.request import LlmGeneration
from hocket.api.progress import Progress
from hocket.api.simulate.job import SimulatedJob
from hocket.api.step.balance import balanced, incomparable
from hocket.api.step.contenders import runs_natively
from hocket.api.step.networks import networks
from hocket.api.step.plans import plans_beside, request_that_made
from hocket.api.step.synthesized import Programs
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes
from hocket.simulator import Prediction
from hocket.simulator.analysis import WhatIf
from hocket.simulator.analysis.step_report import AS_ASKED
from hocket.topology import Topology

__all__ = ["StepChanges"]

_QUICKER = Fraction(9, 10)  # of the computation's time, as a what-if
_BALANCED = "every rank as fast as the median of those alike"
_NATIVE = "native algorithms (--algorithm auto)"
_SAVED_NATIVELY = "what native algorithms save"

#: A change's name, by whose algorithms it is simulated, and what finds the time of the job so, or why there is none.
_Change = tuple[str, str, Callable[[], "int | str"]]


@dataclass(frozen=True, eq=False)
class StepChanges:
    """The changes of a job on `spec` which is `asked` there, by native algorithms on the links `native` (None: it runs
    by those), and by each of the `programs` alone takes so many picoseconds."""

    job: SimulatedJob
    spec: str
    asked: Prediction
    native: Prediction | None
    programs: Sequence[tuple[Programs, int]]
    progress: Progress

    def simulated(self) -> tuple[tuple[WhatIf, ...], tuple[tuple[str, str], ...]]:
        """All, those that gain the most first; and what was not tried, and why."""
        found, not_tried = [], []
        changes = [*self._all()]
        for number, (name, of, find) in enumerate(changes, start=1):
            self.progress.status(f"what if: {name} ({number} of {len(changes)})")
            time = find()
            if isinstance(time, str):
                not_tried.append((name, time))
            else:
                found.append(WhatIf(name, of, self.asked.time_ps, time))
        return tuple(sorted(found, key=lambda change: (-change.gain, change.name))), tuple(not_tried)

    def _all(self) -> Iterator[_Change]:
        if self.native is not None:
            yield _NATIVE, AS_ASKED, partial(int, self.native.time_ps)
        for programs, time_ps in self.programs:
            yield programs.name, AS_ASKED, partial(int, time_ps)
        yield from self._quicker()
        yield from self._even_ranks()
        yield from self._faster_links()
        yield from self._other_plans()

    def _quicker(self) -> Iterator[_Change]:
        """Computation, and what the host does alone, where there is any."""
        scale = self.job.compute_scale
        kernels = replace(self.job, compute_scale=scale * _QUICKER, host_scale=scale)
        yield "computation 10 % faster", AS_ASKED, partial(_time_of, kernels, self.spec)
        if self.asked.workload.on_host.any():
            host = replace(self.job, host_scale=scale * _QUICKER)
            yield "the host 10 % faster", AS_ASKED, partial(_time_of, host, self.spec)

    def _even_ranks(self) -> Iterator[_Change]:
        if (even := balanced(self.job.traces)) is not None:
            same = replace(self.job, traces=even)
            yield _BALANCED, AS_ASKED, partial(_time_of, same, self.spec)
        if unlike := incomparable(self.job.traces):
            why = (
                f"{unlike} ranks do the same nodes as others with other amounts, as where experts are chosen unevenly:"
                " their times cannot be compared"
            )
            yield _BALANCED, AS_ASKED, partial(str, why)

    def _faster_links(self) -> Iterator[_Change]:
        """By what is asked for; NCCL's kernels keep the pace that its model says of the machines as they are, so that
        in their place the job takes as much less as native algorithms then do."""
        topology = self.asked.topology
        machine = self.job.machine(self.spec)
        paced = machine.nccl is not None and not runs_natively(self.job, machine)
        if paced and self.native is None:
            why = "what native algorithms save would tell, which were not tried either"
            yield "links twice as fast", AS_ASKED, partial(str, why)
            return
        for name, links in networks(topology):
            bandwidth = np.where(links, 2 * topology.bandwidth, topology.bandwidth)
            faster = replace(topology, bandwidth=bandwidth)
            of, find = (_SAVED_NATIVELY, self._saved_natively) if paced else (AS_ASKED, self._on_links)
            yield f"{name} twice as fast", of, partial(find, faster)

    def _on_links(self, topology: Topology) -> int:
        return self.job.on(self.spec, topology).time_ps

    def _saved_natively(self, topology: Topology) -> int:
        assert self.native is not None  # a library runs, not they
        return self.asked.time_ps - self.native.time_ps + self.job.natively_on(self.spec, topology).time_ps

    def _other_plans(self) -> Iterator[_Change]:
        """Of a generated job: the same model and batch on as many ranks by a plan that differs in one point."""
        request = request_that_made(self.job.traces)
        if isinstance(request, str):
            yield "other plans", AS_ASKED, partial(str, request)
        elif request is not None:
            for name, other in plans_beside(request):
                yield name, AS_ASKED, partial(self._of_plan, other)

    def _of_plan(self, request: LlmGeneration) -> int | str:
        try:
            job = generated(request)
            if not job.fits:
                return f"it needs {format_bytes(job.needs_bytes)}, more than {job.accelerator.name} has"
            if job.traces.num_ranks != self.job.traces.num_ranks:
                return f"it is of {job.traces.num_ranks} ranks, not of {self.job.traces.num_ranks}"
            return _time_of(replace(self.job, traces=job.traces), self.spec)
        except HocketError as error:  # no plan for this model
            return str(error)


def _time_of(job: SimulatedJob, spec: str) -> int:
    return job.on(spec).time_ps
