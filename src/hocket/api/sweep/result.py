"""What a sweep came to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hocket.api.result import Result
from hocket.api.sweep.request import Sweep
from hocket.simulator.analysis import Columns

__all__ = ["SweepResult", "points_in_words"]


class SweepResult(Result):
    """Columns, a row a point: `columns()["results"]`."""

    def __init__(self, request: Sweep, results: Columns) -> None:
        self.request: Sweep = request
        self.results = results

    def summary(self) -> str:
        errors = self.results["error"]
        path = Path(self.request.output) / "results.csv"
        return f"{points_in_words(len(errors))}, {int((errors != '').sum())} cannot be simulated (column error): {path}"

    def columns(self) -> Mapping[str, Columns]:
        return {"results": self.results}


def points_in_words(number: int) -> str:
    return f"{number} point" if number == 1 else f"{number} points"
