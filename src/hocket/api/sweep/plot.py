"""Draws what a sweep has answered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate.request import Simulation
from hocket.api.sweep.answer import Answer
from hocket.api.sweep.execution import answer_columns
from hocket.api.sweep.file import own_columns
from hocket.api.sweep.jobs.columns import columns_of, swept
from hocket.api.sweep.jobs.point import JobPoint
from hocket.api.sweep.pages import plot_sections
from hocket.api.sweep.plots import plots_of, usual_plots
from hocket.api.sweep.request import SweepPlot
from hocket.api.sweep.result import SweepPlotResult
from hocket.api.sweep.store import ANSWERS, stored
from hocket.base.errors import FormatError, RequestError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.report.column_plots import Plot
from hocket.report.page import render
from hocket.simulator.analysis import Columns, JobOutcome

__all__ = ["perform"]


def perform(request: SweepPlot, progress: Progress) -> SweepPlotResult:
    """Writes the page. Raises FormatError where the folder has no answers of a sweep, RequestError for columns that
    they do not have."""
    spec, rows = stored(Path(request.folder) / ANSWERS)
    if not rows:
        raise FormatError(f"{request.folder}: nothing is answered there yet: run hocket sweep")
    formulas = {name: str(formula) for name, formula in spec.get("columns", {}).items()}
    columns = own_columns(_columns(rows), [said for said, _, _ in rows], formulas)
    plots = _plots(request, spec, columns)
    for plot in plots:
        for key, name in plot.named():
            if name not in columns:
                raise RequestError(f"--{key} {name}: no such column; {nearest(name, columns)}")
    result = SweepPlotResult(request, columns)
    write_page(request.output, render("A sweep", request.folder, plot_sections(plots, columns)), result)
    return result


def _columns(rows: Any) -> Columns:
    """The columns of collectives, or of jobs."""
    if "verb" in msgspec.json.decode(rows[0][1]):
        requests = [msgspec.json.decode(request, type=Simulation) for _, request, _ in rows]
        return answer_columns(requests, [msgspec.json.decode(answer, type=Answer) for _, _, answer in rows])
    points = [msgspec.json.decode(request, type=JobPoint) for _, request, _ in rows]
    return columns_of(points, swept(points, [msgspec.json.decode(answer, type=JobOutcome) for _, _, answer in rows]))


def _plots(request: SweepPlot, spec: Mapping[str, Any], columns: Columns) -> list[Plot]:
    if request.x is None or request.y is None:
        request.take_only({"folder", "output"}, "--x and --y are the columns of a figure: give both, or none")
        found = [*plots_of(YamlDocument(request.folder, dict(spec), {"$": 1}))]
        if not found and "time_ps" in columns:
            found = usual_plots(columns, [*spec.get("columns", {})])
        if not found:
            raise RequestError("--x and --y are missing: the columns of the figure")
        return found
    asked: dict[str, Any] = {"kind": request.kind, "x": request.x, "y": request.y, "log": request.log}
    asked |= {"value": request.value or "", "each": request.each or ""}
    asked["by"] = [name for text in request.by for name in text.split(",")]
    plot = Plot(**asked)
    if why := plot.why_not():
        raise RequestError(why)
    return [plot]
