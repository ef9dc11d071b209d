"""What a simulation comes to: predictions, or curves over sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.result import Result
from hocket.api.simulate.request import Simulation
from hocket.api.simulate.text import assumed_lines, comparison_lines, curve_lines, prediction_lines
from hocket.base.errors import ExitCode, RequestError
from hocket.base.late_imports import late_imports
from hocket.base.text import printable_lines
from hocket.base.units import format_bandwidth, format_time

with late_imports(__name__):
    from hocket.api.provenance import write_page
    from hocket.api.timelines import cut_of
    from hocket.base.files import write_json
    from hocket.report.curves_page import curves_page
    from hocket.report.prediction_page import prediction_page
    from hocket.simulator import Prediction, TimelineCut, timeline_part, write_timeline
    from hocket.simulator.analysis import Columns, SimulatedFacts, prediction_json, write_csv, write_tables
    from hocket.simulator.analysis import tables as prediction_tables
    from hocket.simulator.curves import SimulatedCurve, curves_json, curves_table
    from hocket.topology import Topology

__all__ = ["CurvesResult", "SimulationResult"]

_LIFTS = "--timeline-ranks, --timeline-time and --timeline-links name what to show"


class SimulationResult(Result):
    """A prediction for each topology. Of one, `prediction` and its `time_ps`, `bound_ps`, `ratio`; times are integer
    picoseconds."""

    def __init__(self, request: Simulation, predictions: Sequence[Prediction]) -> None:
        self.request: Simulation = request
        self.predictions = tuple(predictions)
        self.warnings = tuple(f"  warning: {each}" for prediction in predictions for each in prediction.warnings)
        lost_all = any(prediction.workload.lost_all for prediction in predictions)
        self.exit_code = ExitCode.CHECK_FAILED if lost_all and not request.job.accept_losses else ExitCode.DONE
        self._written: list[str] = []

    @property
    def prediction(self) -> Prediction:
        """The prediction, where one topology was asked for; of several, raises RequestError."""
        if len(self.predictions) > 1:
            raise RequestError("several topologies were simulated: take one of .predictions")
        return self.predictions[0]

    @property
    def time_ps(self) -> int:
        return self.prediction.time_ps

    @property
    def bound_ps(self) -> int:
        return self.prediction.bound_ps

    @property
    def ratio(self) -> float:
        """Time over bound."""
        return self.prediction.ratio

    @property
    def whole_times_ps(self) -> tuple[int, int] | None:
        return (self.time_ps, self.bound_ps) if len(self.predictions) == 1 else None

    @cached_property
    def _facts(self) -> SimulatedFacts:
        return SimulatedFacts(self.prediction)

    def headline(self) -> str:
        return f"{self.request.what}: {'; '.join(each.headline() for each in self.predictions)}"

    def summary(self) -> str:
        several = len(self.predictions) > 1
        lines = comparison_lines(self.predictions) if several else prediction_lines(self.predictions[0])
        return printable_lines([*lines, *self._written])

    def columns(self) -> Mapping[str, Columns]:
        """Of one prediction all its tables; of several a row each."""
        if len(self.predictions) == 1:
            return prediction_tables(self.prediction)
        names = {"topology": [each.topology.name for each in self.predictions]}
        times = {name: [getattr(each, name) for each in self.predictions] for name in ("time_ps", "bound_ps", "ratio")}
        return {"predictions": {name: np.array(column) for name, column in (names | times).items()}}

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/results.md), with the request that was answered."""
        return {**prediction_json(self.prediction, self._facts), "request": self.request.to_plain()}

    def _cut(self, topology: Topology) -> TimelineCut:
        outputs = self.request.outputs
        asked = outputs.timeline_ranks, outputs.timeline_time, outputs.timeline_links
        return cut_of(topology, *asked, prefix="--timeline-")

    def write(self) -> None:
        """Writes what the request names. Raises RequestError where several topologies were simulated."""
        outputs = self.request.outputs
        if not (outputs.json or outputs.timeline or outputs.tables or outputs.report):
            return
        if len(self.predictions) > 1:
            raise RequestError("--json, --timeline, --tables and --report are for one prediction: give one --topology")
        if outputs.json:
            write_json(outputs.json, self.as_json())
            self._written.append(f"wrote {outputs.json}")
        if outputs.timeline:
            part = timeline_part(self.prediction, self._cut(self.prediction.topology))
            write_timeline(self.prediction, outputs.timeline, {"request": self.request.to_plain()}, part)
            self._written.append(f"wrote {outputs.timeline}: open it at https://ui.perfetto.dev")
            if part.left_out:
                self._written.append(f"  without {part.left_out}, to stay below 20 MB: {_LIFTS}")
        if outputs.tables:
            write_tables(self.prediction, outputs.tables, parquet=outputs.parquet)
            write_json(Path(outputs.tables) / "prediction.json", self.as_json())
            self._written.append(f"wrote tables to {outputs.tables}")
        if outputs.report:
            write_page(outputs.report, prediction_page(self._facts), self)
            self._written.append(f"wrote {outputs.report}")


class CurvesResult(Result):
    """A curve over sizes for each topology and algorithm; `measured`: what nodes like these took, in lines."""

    several = "curves"

    def __init__(
        self,
        request: Simulation,
        kind: str,
        curves: Sequence[SimulatedCurve],
        assumed: Sequence[str] = (),
        measured: Sequence[str] = (),
    ) -> None:
        self.request: Simulation = request
        self.kind = kind
        self.curves = tuple(curves)
        self.assumed = tuple(assumed)
        self.measured = tuple(measured)
        self._written: list[str] = []

    def headline(self) -> str:
        sizes = f"{self.kind} at {len(self.curves[0].columns['size_bytes'])} sizes"
        best = max(self.curves, key=lambda curve: float(curve.columns["busbw"].max()))
        reached = f"busbw up to {format_bandwidth(float(best.columns['busbw'].max()))}"
        name = f"{best.algorithm} on {best.topology}"
        if len(self.curves) > 1:
            return f"{sizes}, {len(self.curves)} curves: {reached}, {name}"
        first, last = (format_time(int(best.columns["time_ps"][at])) for at in (0, -1))
        return f"{sizes}, {name}: {first} to {last}, {reached}"

    def summary(self) -> str:
        curves = curve_lines(self.kind, self.curves)
        return printable_lines([*assumed_lines(self.assumed), *curves, *self.measured, *self._written])

    def columns(self) -> Mapping[str, Columns]:
        return {"curves": curves_table(self.curves)}

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/results.md), with the request that was answered."""
        return {
            **curves_json(self.kind, self.curves),
            "headline": self.headline(),
            "assumed": [*self.assumed],
            "measured": [*self.measured],
            "request": self.request.to_plain(),
        }

    def write(self) -> None:
        """Writes what the request names."""
        outputs = self.request.outputs
        if outputs.json:
            write_json(outputs.json, self.as_json())
            self._written.append(f"wrote {outputs.json}")
        if outputs.csv:
            write_csv(outputs.csv, curves_table(self.curves))
            self._written.append(f"wrote {outputs.csv}")
        if outputs.report:
            page = curves_page(self.kind, self.curves, self.assumed, self.measured)
            write_page(outputs.report, page, self)
            self._written.append(f"wrote {outputs.report}")
