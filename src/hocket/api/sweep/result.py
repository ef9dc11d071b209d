"""What a sweep came to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hocket.api.result import Result
from hocket.api.sweep.request import Sweep, SweepPlot
from hocket.simulator.analysis import Columns

__all__ = ["PAGE", "AnsweredElsewhere", "SweepPlotResult", "SweepResult", "points_in_words"]

PAGE = "report.html"


class SweepResult(Result):
    """Columns, a row per point: `columns()["results"]`; `written`: the files made."""

    def __init__(self, request: Sweep, results: Columns) -> None:
        self.request: Sweep = request
        self.results = results
        self.written: list[Path] = []

    def summary(self) -> str:
        errors = self.results["error"].tolist()
        failed = sum(error.startswith("failed: ") for error in errors)
        refused = sum(map(bool, errors)) - failed
        said = [points_in_words(len(errors))]
        said += [f"{refused} cannot be simulated (column error)"] if refused else []
        said += [f"{failed} failed: --retry-failed asks again"] if failed else []
        return f"{', '.join(said)}: {Path(self.request.output) / 'results.csv'}"

    def columns(self) -> Mapping[str, Columns]:
        return {"results": self.results}


def points_in_words(number: int) -> str:
    return f"{number} point" if number == 1 else f"{number} points"


class AnsweredElsewhere(Result):
    """Of a rank of MPI that worked for the one that has the results."""

    def __init__(self, request: Sweep) -> None:
        self.request: Sweep = request

    def headline(self) -> str:
        return "answered what another rank asked"

    def summary(self) -> str:
        return ""


class SweepPlotResult(Result):
    """The page, and the columns that were drawn."""

    def __init__(self, request: SweepPlot, results: Columns) -> None:
        self.request: SweepPlot = request
        self.results = results

    def summary(self) -> str:
        number = len(next(iter(self.results.values())))
        return f"{points_in_words(number)}: wrote {self.request.output}"

    def columns(self) -> Mapping[str, Columns]:
        return {"results": self.results}
