"""How far a job's prediction is from its recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from hocket.api.result import Result
from hocket.api.validate.request import JobValidation
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_time
from hocket.chakra.steps import NO_STEP
from hocket.report.validation_facts import ValidationFacts, validation_facts
from hocket.report.validation_page import NO_HELD_OUT_STEPS, sizes_of
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

    @cached_property
    def facts(self) -> ValidationFacts:
        """What its JSON and its page have."""
        return validation_facts(self.prediction, self.plain, self.fitted, self.notes)

    def headline(self) -> str:
        return f"steps predicted {_share(self.plain.step_error, '+')} of what was recorded; {_spread(self.plain)}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (f"assumed: {sentence}" for sentence in self.prediction.assumed)
        yield self.headline()
        yield ""
        if self.plain.near:
            yield from _collectives(self.plain)
            yield ""
        yield from _steps(self.plain.steps)
        if self.fitted:
            before, after = self.fitted
            yield ""
            yield f"steps that were not fitted to ({self.request.fit} were):"
            yield f"  as predicted    {_held_out(before)}"
            yield f"  as corrected    {_held_out(after)}; noise {_share(after.noise)}"
            if not after.steps:
                yield f"  {NO_HELD_OUT_STEPS}"
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
        return {
            "format": "hocket.validation",
            "version": 1,
            "request": self.request.to_plain(),
            "headline": self.headline(),
            **msgspec.to_builtins(self.facts),
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


def _share(value: float | None, sign: str = "") -> str:
    """A share in percent; `-` where it is not known."""
    return "-" if value is None or np.isnan(value) else f"{value:{sign}.1%}"


def _held_out(found: Validation) -> str:
    return f"step {_share(found.step_error, '+')}; {_spread(found)}" if found.steps else _spread(found)


def _collectives(found: Validation) -> Iterator[str]:
    shown = found.near[:_MOST_ROWS]
    sizes = sizes_of([(each.sort.size_bytes, each.largest_bytes) for each in shown])
    rows = [
        (
            f"{each.count} x {each.sort.kind}",
            f"{each.sort.dimension}, {each.sort.ranks} ranks",
            size,
            format_time(each.recorded_ps),
            format_time(each.predicted_ps),
            f"{each.error:+.1%}",
            _share(each.noise),
            each.because,
        )
        for each, size in zip(shown, sizes, strict=True)
    ]
    heads = ("collective", "group", "size", "recorded", "predicted", "error", "noise", "what explains it")
    yield from text_table(heads, rows, align="<<>>>>><")
    if more := found.near[_MOST_ROWS:]:
        calls = sum(each.count for each in more)
        yield f"  and {len(more)} more rows of {calls} calls, each of less time in all; --json has all sorts"


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
    if len(steps) > len(rows):
        yield f"  and {len(steps) - len(rows)} more steps; --json has them all"
