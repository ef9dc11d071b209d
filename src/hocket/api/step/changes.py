"""What-ifs of a job's step: one thing is changed, and the job simulated again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from hocket.api.generate.llm import generated
from hocket.api.generate.request import LlmGeneration
from hocket.api.progress import Progress
from hocket.api.simulate.job import SimulatedJob
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes
from hocket.chakra import Trace, TraceSet
from hocket.chakra.trace import NodeType
from hocket.simulator import Prediction
from hocket.simulator.analysis import WhatIf
from hocket.topology import Topology, routes

__all__ = ["LAUNCH_PS", "StepChanges"]

LAUNCH_PS = 6_600_000
"""What launches a kernel of a native algorithm: as NCCL's least (docs/nccl-model.md)."""
_QUICKER = Fraction(9, 10)  # of the computation's time, as a what-if


@dataclass(frozen=True, eq=False)
class StepChanges:
    """The changes of a job on `spec` whose step is `asked` and, by native algorithms on the links, `native`."""

    job: SimulatedJob
    spec: str
    topology: Topology
    asked: Prediction
    native: Prediction
    progress: Progress

    def simulated(self) -> tuple[tuple[WhatIf, ...], tuple[tuple[str, str], ...]]:
        """All, those that gain the most first; and what was not tried, and why."""
        found, not_tried = [], []
        for change in self._all():
            if isinstance(change, WhatIf):
                found.append(change)
                self.progress.status(f"{len(found)} what-ifs simulated; the last: {change.name}")
            else:
                not_tried.append(change)
        return tuple(sorted(found, key=lambda change: (-change.gain, change.name))), tuple(not_tried)

    def _all(self) -> Iterator[WhatIf | tuple[str, str]]:
        asked_ps = self.asked.time_ps
        if self.job.runs_library:
            name = "native algorithms, each call the one that is fastest on its links (--algorithm auto)"
            yield WhatIf(name, "the stock library", asked_ps, self.native.time_ps)
        quicker = replace(self.job, compute_scale=self.job.compute_scale * _QUICKER)
        yield WhatIf("computation 10 % faster", "as asked", asked_ps, quicker.on(self.spec).time_ps)
        if balanced := _balanced(self.job.traces):
            same = replace(self.job, traces=balanced)
            yield WhatIf("every rank as fast as the median of those alike", "as asked", asked_ps, _time(same, self))
        yield from self._faster_links()
        yield from self._other_plans()

    def _faster_links(self) -> Iterator[WhatIf]:
        """What the network would gain is seen where each message takes its links."""
        for name, links in _networks(self.topology):
            bandwidth = np.where(links, 2 * self.topology.bandwidth, self.topology.bandwidth)
            faster = self.job.natively_on(self.spec, replace(self.topology, bandwidth=bandwidth), LAUNCH_PS)
            yield WhatIf(f"{name} twice as fast", "native algorithms", self.native.time_ps, faster.time_ps)

    def _other_plans(self) -> Iterator[WhatIf | tuple[str, str]]:
        """Of a generated job: the same model and batch by a plan that differs in one point."""
        request = self._generation()
        if request is None:
            return
        for name, other in _plans(request):
            try:
                job = generated(other)
                if not job.fits:
                    yield name, f"it needs {format_bytes(job.needs_bytes)}, more than {job.accelerator.name} has"
                    continue
                time = replace(self.job, traces=job.traces).on(self.spec).time_ps
            except HocketError as error:  # no plan for this model, or more ranks than there are
                yield name, str(error)
                continue
            yield WhatIf(name, "as asked", self.asked.time_ps, time)

    def _generation(self) -> LlmGeneration | None:
        text = self.job.traces.traces[0].metadata.get("request") if self.job.traces.traces else None
        if not isinstance(text, str):
            return None
        try:
            return LlmGeneration.from_json(text)
        except HocketError:  # of another version
            return None


def _time(job: SimulatedJob, changes: StepChanges) -> int:
    return job.on(changes.spec).time_ps


def _balanced(traces: TraceSet) -> TraceSet | None:
    """The traces in which each computation takes the median of that of all ranks that do the same nodes; None where
    ranks do not differ so."""
    alike: dict[bytes, list[int]] = {}
    for rank, trace in enumerate(traces.traces):
        alike.setdefault(trace.type.tobytes() + trace.comm_type.tobytes() + trace.comm_bytes.tobytes(), []).append(rank)
    found: list[Trace] = list(traces.traces)
    differ = False
    for ranks in alike.values():
        durations = np.stack([traces.traces[rank].duration_ns for rank in ranks])
        computing = traces.traces[ranks[0]].type == NodeType.COMP
        median = np.sort(durations, axis=0)[len(ranks) // 2]
        if (durations[:, computing] == durations[0, computing]).all():
            continue
        differ = True
        for rank in ranks:
            trace = traces.traces[rank]
            found[rank] = replace(trace, duration_ns=np.where(computing, median, trace.duration_ns))
    return replace(traces, traces=tuple(found)) if differ else None


def _networks(topology: Topology) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The links inside nodes and those between them, as masks; one network where there are no machines of several
    ranks, or one machine."""
    inside = np.flatnonzero(topology.machine == topology.machine[0])
    between = np.flatnonzero(topology.machine != topology.machine[0])
    if len(inside) < 2 or not len(between):
        yield "the network", np.ones(topology.num_links, np.bool_)
        return
    path = routes(topology.graph, np.array([[inside[0], inside[1]]], np.int32)).links
    classes = np.unique(topology.link_class[path])
    within = np.isin(topology.link_class, classes)
    names = [topology.classes[at] for at in classes.tolist()]
    yield f"{' and '.join(names)} inside nodes", within
    yield "NICs and the network between nodes", ~within


def _plans(request: LlmGeneration) -> Iterator[tuple[str, LlmGeneration]]:
    """Plans that differ from the request's in one point, and what that is."""
    changes: list[tuple[str, dict[str, object]]] = [
        (f"micro-batches of {2 * request.micro_batch}", {"micro_batch": 2 * request.micro_batch}),
    ]
    if request.micro_batch > 1:
        changes.append((f"micro-batches of {request.micro_batch // 2}", {"micro_batch": request.micro_batch // 2}))
    if request.tp > 1 and not request.sequence_parallel:
        changes.append(("sequence parallelism", {"sequence_parallel": True}))
    if request.pp > 1 and request.schedule == "1f1b":
        changes.append(("an interleaved pipeline of 2 chunks", {"schedule": "interleaved", "chunks": 2}))
        changes.append(("a zero-bubble pipeline (ZB-H1)", {"schedule": "zb-h1"}))
    if request.tp > 1 and request.dp is not None:
        half = {"tp": request.tp // 2, "dp": 2 * request.dp}
        changes.append((f"tp {half['tp']}, dp {half['dp']}", dict(half)))
    if request.pp > 1 and request.dp is not None:
        half = {"pp": request.pp // 2, "dp": 2 * request.dp}
        changes.append((f"pp {half['pp']}, dp {half['dp']}", dict(half)))
    if request.recompute != "full":
        changes.append(("recomputation of whole layers", {"recompute": "full"}))
    else:
        changes.append(("recomputation of attention alone", {"recompute": "selective"}))
    for name, change in changes:
        yield name, structs.replace(request, **change)
