"""Replays traces on real ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.replay.request import Replay
from hocket.api.result import Result
from hocket.api.simulate.options import fraction
from hocket.base.errors import HocketError
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.chakra import read_traces
from hocket.report.replay_page import replay_page
from hocket.runtime.replay.comparison import ReplayComparison, compare
from hocket.runtime.replay.compute import Compute
from hocket.runtime.replay.connect import check_backend, world_of
from hocket.runtime.replay.launch import replay_here, replay_launched
from hocket.runtime.replay.memory import require_memory
from hocket.runtime.replay.plan import plan_replay
from hocket.runtime.replay.playing import ReplaySettings
from hocket.simulator import Fidelity, parse_remote_memory, simulate_traces
from hocket.simulator.traces import Hardware
from hocket.topology import load
from hocket.workload.accelerators import parse_accelerator

__all__ = ["ReplayResult", "perform"]

_TIMES = ("operation", "group", "ranks", "size", "count", "measured", "p50", "p95", "recorded", "predicted")
_RANKS = ("rank", "time", "exposed", "recorded", "predicted", "last", "waited for")


def perform(request: Replay, progress: Progress) -> ReplayResult:
    """Plays the traces. Under a launcher rank 0 compares, and the others' results have nothing to say."""
    scale = Fraction(0) if request.compute == Compute.NONE else fraction("--compute-scale", request.compute_scale, 0)
    machine = load(request.topology) if request.topology else None
    job = read_traces(request.traces, request.groups)
    world = world_of(request.backend)
    for asked in (request.ranks, world):
        if asked not in (None, job.num_ranks):
            raise HocketError(
                f"{request.traces}: of {job.num_ranks} ranks, asked to replay on {asked}; use -n {job.num_ranks}"
            )
    check_backend(request.backend)
    accelerator = parse_accelerator(request.accelerator) if request.accelerator else None
    memory = parse_remote_memory(request.remote_memory) if request.remote_memory else None
    plan = plan_replay(job, scale, Hardware(accelerator, memory))
    prediction = None
    if machine is not None:
        prediction = simulate_traces(
            job,
            machine,
            fidelity=Fidelity(request.model),
            compute_scale=scale,
            accelerator=accelerator,
            remote_memory=memory,
            folded=False,  # every rank's nodes are compared
        )
    settings = ReplaySettings(
        request.backend, request.iterations, request.warmup, Compute(request.compute), request.timeout
    )
    if world is None:
        require_memory(plan)
        measured = replay_here(plan, settings, lambda number: None)
    else:
        from_all = replay_launched(plan, settings)
        if from_all is None:
            return ReplayResult(request, plan.num_ranks, None)
        measured = from_all
    result = ReplayResult(request, plan.num_ranks, compare(job, plan, measured, prediction))
    result.write()
    return result


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult(Result):
    """Measured beside recorded and predicted times; no comparison on ranks of a launcher but the first."""

    request: Replay
    num_ranks: int
    comparison: ReplayComparison | None

    def headline(self) -> str:
        times = len(self.comparison.iterations_ps) if self.comparison else self.request.iterations
        return f"{self.num_ranks} {self.request.backend} ranks, {times} iterations of the trace"

    def summary(self) -> str:
        return printable_lines(self._lines(self.comparison)) if self.comparison else ""

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        if self.comparison is None:
            return {}
        names = ("kind", "group", "size_bytes", "count", "measured_ps", "median_ps", "p95_ps")
        rows = self.comparison.operations
        return {"operations": {name: np.array([getattr(row, name) for row in rows]) for name in names}}

    def write(self) -> None:
        """The files that the request asks for."""
        comparison, request = self.comparison, self.request
        if comparison is not None and request.json is not None:
            head = {"format": "hocket.replay", "version": 1, "request": request.to_plain(), "source": request.traces}
            head |= {"backend": request.backend, "compute": request.compute, "measured_ps": comparison.measured_ps}
            write_json(request.json, head | asdict(comparison))
        if comparison is not None and request.report is not None:
            title = f"{request.traces} on {self.num_ranks} {request.backend} ranks"
            write_page(request.report, replay_page(comparison, title), self)

    def _lines(self, found: ReplayComparison) -> Iterator[str]:
        times = found.iterations_ps
        yield self.headline() + (f" ({found.steps} steps)" if found.steps else "")
        yield (
            f"measured {_time(found.measured_ps)} (min {_time(min(times))}, max {_time(max(times))}), recorded"
            f" {_time(found.recorded_ps)}, predicted {_time(found.predicted_ps)}"
        )
        if found.operations:
            rows = [
                (
                    *(row.kind, row.group or "0", len(row.ranks), format_bytes(row.size_bytes), row.count),
                    *map(_time, (row.measured_ps, row.median_ps, row.p95_ps, row.recorded_ps, row.predicted_ps)),
                    *("-" if each is None else format_bandwidth(each) for each in (row.algbw, row.busbw)),
                )
                for row in found.operations
            ]
            yield from text_table((*_TIMES, "algbw", "busbw"), rows, align="<<", gap=3, ruled=True)
        ranks = [
            (
                *(rank.rank, _time(rank.time_ps)),
                *map(_time, (rank.exposed_ps, rank.recorded_exposed_ps, rank.predicted_exposed_ps)),
                *(f"{rank.last:g}", _time(rank.delay_ps)),
            )
            for rank in found.ranks
        ]
        yield from text_table(_RANKS, ranks, align="", gap=3, ruled=True)
        if found.straggler is not None:
            yield f"waited for longest: rank {found.straggler}"
        yield from (f"note: {note}" for note in found.notes)


def _time(value: int | None) -> str:
    return "-" if value is None else format_time(value)
