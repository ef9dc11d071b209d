"""How far a job's prediction is from its recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hocket.api.result import Result
from hocket.api.validate.request import JobValidation
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes_apart, format_time
from hocket.chakra.steps import NO_STEP
from hocket.simulator import Prediction
from hocket.simulator.analysis import Columns, StepErrors, Validation

__all__ = ["ValidationResult"]

_MOST_ROWS = 20


class ValidationResult(Result):
    """`plain`: errors of the prediction; `fitted`: of the steps that were not fitted to, the errors as predicted and as
    corrected by the others (None: not asked for)."""

    def __init__(
        self,
        request: JobValidation,
        prediction: Prediction,
        plain: Validation,
        fitted: tuple[Validation, Validation] | None,
        notes: Sequence[str],
    ) -> None:
        self.request: JobValidation = request
        self.prediction = prediction
        self.plain, self.fitted = plain, fitted
        self.notes = tuple(notes)

    def headline(self) -> str:
        return f"steps predicted {self.plain.step_error:+.1%} of what was recorded; {_spread(self.plain)}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (f"assumed: {sentence}" for sentence in self.prediction.assumed)
        yield self.headline()
        yield ""
        yield from _collectives(self.plain)
        yield ""
        yield from _steps(self.plain.steps)
        if self.fitted:
            before, after = self.fitted
            yield ""
            yield f"steps that were not fitted to ({self.request.fit} were):"
            yield f"  as predicted    step {before.step_error:+.1%}; {_spread(before)}"
            yield f"  as corrected    step {after.step_error:+.1%}; {_spread(after)}; noise {_noise(after):.1%}"
        yield from (f"  note: {note}" for note in (*self.notes, *self.prediction.notes))
        yield from (f"wrote {path}" for path in (self.request.json, self.request.report) if path)

    def columns(self) -> Mapping[str, Columns]:
        found = {"collectives": _collective_columns(self.plain), "steps": _step_columns(self.plain.steps)}
        if self.fitted:
            found |= {
                "corrected": _collective_columns(self.fitted[1]),
                "corrected_steps": _step_columns(self.fitted[1].steps),
            }
        return found

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/validate.md), with the request that was answered."""
        forms = {"predicted": self.plain}
        if self.fitted:
            forms |= {"not_fitted_predicted": self.fitted[0], "not_fitted_corrected": self.fitted[1]}
        return {
            "format": "hocket.validation",
            "version": 1,
            "request": self.request.to_plain(),
            "topology": self.prediction.topology.name,
            "assumed": [*self.prediction.assumed],
            "notes": [*self.notes, *self.prediction.notes],
            **{name: _form(each) for name, each in forms.items()},
        }


def _form(found: Validation) -> dict[str, Any]:
    columns = {"collectives": _collective_columns(found), "steps": _step_columns(found.steps)}
    rows = {
        name: [dict(zip(table, row, strict=True)) for row in zip(*map(np.ndarray.tolist, table.values()), strict=True)]
        for name, table in columns.items()
    }
    return {
        "step_error": found.step_error,
        "median_error": found.error_at(50),
        "p90_error": found.error_at(90),
        "noise": _noise(found),
        **rows,
    }


def _collective_columns(found: Validation) -> Columns:
    rows = found.collectives
    return {
        **{
            name: np.array([getattr(each.sort, name) for each in rows])
            for name in ("kind", "dimension", "ranks", "size_bytes")
        },
        **{
            name: np.array([getattr(each, name) for each in rows])
            for name in ("algorithm", "count", "recorded_ps", "predicted_ps", "error", "noise", "because")
        },
    }


def _step_columns(steps: Sequence[StepErrors]) -> Columns:
    names = ("step", "recorded_ps", "predicted_ps", "error", "recorded_exposed_ps", "predicted_exposed_ps")
    return {name: np.array([getattr(each, name) for each in steps]) for name in names}


def _spread(found: Validation) -> str:
    if not found.collectives:
        return "no collectives"
    return f"collectives off by {found.error_at(50):.1%} in the median, {found.error_at(90):.1%} at the 90th percentile"


def _noise(found: Validation) -> float:
    """The median noise of the sorts, each counted as often as it was called."""
    noise = np.repeat([each.noise for each in found.collectives], [each.count for each in found.collectives])
    return float(np.median(noise)) if len(noise) else 0.0


def _collectives(found: Validation) -> Iterator[str]:
    shown = found.collectives[:_MOST_ROWS]
    sizes = format_bytes_apart([each.sort.size_bytes for each in shown])
    rows = [
        (
            f"{each.count} x {each.sort.kind}",
            f"{each.sort.dimension}, {each.sort.ranks} ranks",
            sizes[each.sort.size_bytes],
            format_time(each.recorded_ps),
            format_time(each.predicted_ps),
            f"{each.error:+.1%}",
            f"{each.noise:.1%}",
            each.because,
        )
        for each in shown
    ]
    heads = ("collective", "group", "size", "recorded", "predicted", "error", "noise", "what explains it")
    yield from text_table(heads, rows, align="<<>>>>><")
    if len(found.collectives) > len(shown):
        yield f"  and {len(found.collectives) - len(shown)} more sorts; --json has them all"


def _steps(steps: Sequence[StepErrors]) -> Iterator[str]:
    rows = [
        (
            "all" if each.step == NO_STEP else str(each.step),
            format_time(each.recorded_ps),
            format_time(each.predicted_ps),
            f"{each.error:+.1%}",
            format_time(each.recorded_exposed_ps),
            format_time(each.predicted_exposed_ps),
        )
        for each in steps[:_MOST_ROWS]
    ]
    yield from text_table(("step", "recorded", "predicted", "error", "not computing, recorded", "predicted"), rows)
