"""What a step report holds, and as what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from hocket.api.result import Result
from hocket.api.step.request import StepReport
from hocket.api.step.text import head_lines, rest_lines
from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines
from hocket.base.units import format_time
from hocket.report.step_facts import StepFacts, step_facts
from hocket.simulator.analysis import Columns, SimulatedFacts, StepSummary, prediction_json

__all__ = ["StepResult"]


class StepResult(Result):
    """`step`: what was found. Times are picoseconds."""

    def __init__(self, request: StepReport, step: StepSummary) -> None:
        self.request: StepReport = request
        self.step = step
        self.warnings = tuple(f"  warning: {each}" for each in step.prediction.warnings)
        lost_all = step.prediction.workload.lost_all and not request.simulated.job.accept_losses
        self.exit_code = ExitCode.CHECK_FAILED if lost_all else ExitCode.DONE

    @cached_property
    def facts(self) -> StepFacts:
        """What its JSON and its page have beside the prediction."""
        return step_facts(self.step)

    @cached_property
    def predicted(self) -> SimulatedFacts:
        """What they have of it."""
        return SimulatedFacts(self.step.prediction)

    @property
    def whole_times_ps(self) -> tuple[int, int]:
        return self.step.prediction.time_ps, self.step.prediction.bound_ps

    def headline(self) -> str:
        shares = self.step.shares
        whole = max(shares.time_ps, 1)
        parts = sorted(zip(shares.means_ps.tolist(), shares.parts, strict=True), key=lambda pair: -pair[0])[:3]
        said = ", ".join(f"{part.name} {time / whole:.1%}" for time, part in parts)
        return f"{format_time(self.step.step_ps)} per step on {self.step.prediction.topology.name}: {said}"

    def summary(self) -> str:
        return "\n".join([printable_lines([*head_lines(self.step)]), self.rest()])

    def rest(self) -> str:
        written = [f"wrote {path}" for path in (self.request.json, self.request.report) if path]
        return printable_lines([*rest_lines(self.step), *written])

    def columns(self) -> Mapping[str, Columns]:
        shares, step = self.step.shares, self.step
        whole = max(shares.time_ps, 1)
        parts: Columns = {
            "activity": np.array([str(part.activity) for part in shares.parts]),
            "dimension": np.array([part.dimension for part in shares.parts]),
            "mean_ps": shares.means_ps,
            "share": shares.means_ps / whole,
            "least_ps": shares.times_ps.min(axis=1),
            "most_ps": shares.times_ps.max(axis=1),
        }
        names, times = zip(*step.contenders, strict=True)
        what_ifs: Columns = {
            "name": np.array([each.name for each in step.what_ifs], np.str_),
            "of": np.array([each.of for each in step.what_ifs], np.str_),
            "from_ps": np.array([each.from_ps for each in step.what_ifs], np.int64),
            "to_ps": np.array([each.to_ps for each in step.what_ifs], np.int64),
            "gain": np.array([each.gain for each in step.what_ifs], np.float64),
        }
        return {
            "parts": parts,
            "dimensions": shares.overlap,
            "contenders": {"name": np.array(names), "time_ps": np.array(times, np.int64)},
            "what_ifs": what_ifs,
        }

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/results.md), with the request that was answered."""
        return {
            "format": "hocket.step",
            "version": 1,
            "request": self.request.to_plain(),
            "headline": self.headline(),
            **msgspec.to_builtins(self.facts),
            "prediction": prediction_json(self.step.prediction, self.predicted),
        }
