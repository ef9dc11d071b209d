"""Compares two predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hocket.api.compare.request import Comparison
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import ExitCode
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.units import format_time
from hocket.simulator.analysis import Change, read_prediction
from hocket.simulator.analysis import compare as compare_predictions
from hocket.simulator.analysis.stored import StoredPrediction
from hocket.topology import DEFAULT_ROUTING

__all__ = ["ComparisonResult", "perform"]

_TOP = 5


def perform(request: Comparison, progress: Progress) -> ComparisonResult:
    """Reads both predictions, compares them and writes what is wanted. Raises FormatError for what is no prediction."""
    result = ComparisonResult(request, read_prediction(request.first), read_prediction(request.second))
    if request.json:
        write_json(request.json, result.as_json())
    if result.exit_code:
        progress.note(
            f"slower by {result.slower_by:.2%}, more than the tolerance of {request.tolerance:.2%}",
        )
    return result


class ComparisonResult(Result):
    """What differs; `exit_code` is not 0 where the second is slower by more than the tolerance."""

    def __init__(self, request: Comparison, first: StoredPrediction, second: StoredPrediction) -> None:
        self.request: Comparison = request
        self.first, self.second = first, second
        self.comparison = compare_predictions(first, second)
        self.exit_code = ExitCode.CHECK_FAILED if self.slower_by > request.tolerance else ExitCode.DONE

    @property
    def slower_by(self) -> float:
        """By which share of the first's time the second is slower; negative: quicker."""
        return self.comparison.slower_by

    def as_json(self) -> dict[str, Any]:
        return {
            "format": "hocket.comparison",
            "version": 1,
            "request": self.request.to_plain(),
            "slower_by": self.slower_by,
            **asdict(self.comparison),
        }

    def headline(self) -> str:
        return f"{self.request.second} takes {self.slower_by:+.2%} of the time of {self.request.first}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        parts = {"kinds": self.comparison.kinds, "groups": self.comparison.groups, "ranks": self.comparison.ranks}
        return {
            name: {
                "name": np.array([change.name for change in changes]),
                "first_ps": np.array([change.first_ps for change in changes], np.int64),
                "second_ps": np.array([change.second_ps for change in changes], np.int64),
            }
            for name, changes in ({"whole": self.comparison.whole} | parts | {"links": self.comparison.links}).items()
        }

    def _lines(self) -> Iterator[str]:
        for path, prediction in ((self.request.first, self.first), (self.request.second, self.second)):
            routing = f", routing {prediction.routing}" * (prediction.routing not in (None, DEFAULT_ROUTING))
            yield f"{path}: {prediction.topology.name}, model {prediction.model}{routing}"
            yield from (f"  assumed: {each}" for each in prediction.assumed)
            yield from (f"  note: {each}" for each in prediction.notes)
        found = self.comparison
        yield from _changed("", found.whole)
        yield from _changed("collectives by kind", found.kinds[:_TOP])
        yield from _changed("collectives by process group", found.groups[:_TOP])
        yield from _changed("ends of ranks", found.ranks[:_TOP])
        yield from _changed("work of links", found.links[:_TOP])
        if not found.ranks:
            yield "ranks are not compared: their numbers differ"
        if not found.links:
            yield "links are not compared: the topologies differ"
        if self.request.json:
            yield f"wrote {self.request.json}"


def _changed(title: str, changes: Sequence[Change]) -> Iterator[str]:
    changed = [change for change in changes if change.delta_ps or not title]
    if title and changed:
        yield f"{title}, the largest changes"
    for change in changed:
        share = f"{change.delta_ps / change.first_ps:+.1%}" if change.first_ps else "new"
        times = f"{format_time(change.first_ps):>10} -> {format_time(change.second_ps):>10}"
        yield f"  {change.name:<40} {times}  {share:>8}"
