"""The jobs of a sweep side by side, and as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from hocket.api.fields import Field
from hocket.api.generate.request import LlmGeneration
from hocket.api.request import Request
from hocket.api.step.request import StepReport
from hocket.api.sweep.jobs.point import JobPoint
from hocket.api.sweep.rows import plain_cell
from hocket.simulator.analysis import Activity, Columns, JobOutcome, SweptJob, SweptJobs

__all__ = ["columns_of", "swept"]

_SIZES = ("tp", "pp", "dp", "cp", "ep")
_ALWAYS = ("tp", "pp", "dp")
_YES = "yes"
_PARTS = {"computation": Activity.COMPUTATION, "exposed": Activity.COMMUNICATION, "bubble": Activity.BUBBLE}
_PARTS |= {"skew": Activity.SKEW, "host": Activity.HOST, "memory": Activity.MEMORY, "idle": Activity.IDLE}
_TOLD_ELSEWHERE = ("model", "topology", "traces", "output")


def swept(points: Sequence[JobPoint], outcomes: Sequence[JobOutcome]) -> SweptJobs:
    """The points with what became of them, each called by what tells it from others, but for defaults."""
    settings = _settings(points)
    names = [name for name in settings[0] if _tells(name, settings)] if settings else []
    jobs = [
        SweptJob(
            number=number,
            what=point.what,
            topology=point.topology,
            settings={name: said[name].replace(_YES, "") for name in names if _is_news(name, said[name])},
            commands=point.commands(),
            outcome=outcome,
        )
        for number, (point, said, outcome) in enumerate(zip(points, settings, outcomes, strict=True), start=1)
    ]
    return SweptJobs(jobs)


def _settings(points: Sequence[JobPoint]) -> list[dict[str, str]]:
    """What each point says, or takes as the default, of sizes and of what any point gives; empty where that is not of
    its sort."""
    names = [*_SIZES]
    for point in points:
        for request in filter(None, (point.generation, point.step)):
            names += [name for name in request.set_fields() if name not in _TOLD_ELSEWHERE]
    return [{name: _said(point, name) for name in dict.fromkeys(names)} for point in points]


def _said(point: JobPoint, name: str) -> str:
    for request in filter(None, (point.generation, point.step)):
        if field := _fields(type(request)).get(name):
            value = request.value_of(field)
            return _text(value)
    return ""


def _text(value: Any) -> str:
    return (_YES if value else "no") if isinstance(value, bool) else str(plain_cell(value, ""))


def _is_news(name: str, said: str) -> bool:
    """Whether a setting is more than what nobody needs to say."""
    if name in _ALWAYS:
        return bool(said)
    return said != "" and all(
        name not in known or said != _text(known[name].default) for known in map(_fields, (LlmGeneration, StepReport))
    )


@cache
def _fields(request: type[Request]) -> Mapping[str, Field]:
    return {field.name: field for field in request.fields()}


def _tells(name: str, settings: Sequence[Mapping[str, str]]) -> bool:
    """Whether a setting is worth saying: a size above 1, or what is not the same of all."""
    said = {each.get(name, "") for each in settings}
    return name in _ALWAYS or (bool(said - {"1", ""}) if name in _SIZES else len(said) > 1)


def columns_of(points: Sequence[JobPoint], jobs: SweptJobs) -> Columns:
    """A row per point: `point`, its number; what it asks, as options are called; then the numbers of its step (times in
    picoseconds, -1 or nan where there are none), the mean time of each part of a rank's step, whether it is of the
    Pareto set, and why it was skipped."""
    outcomes = [job.outcome for job in jobs.jobs]
    columns: dict[str, Any] = {
        "point": np.arange(1, len(points) + 1),
        "model": [point.generation.model if point.generation else "" for point in points],
        "traces": ["" if point.generation else point.what for point in points],
        "topology": [point.topology for point in points],
    }
    columns |= _asked(points)
    columns |= _numbers(outcomes)
    columns |= _times(jobs, outcomes)
    columns["pareto"] = [int(job.number in jobs.pareto) for job in jobs.jobs]
    columns["because"] = [str(outcome.because or "") for outcome in outcomes]
    columns["skipped"] = [outcome.skipped for outcome in outcomes]
    columns["assumed"] = ["; ".join(outcome.assumed) for outcome in outcomes]
    columns["notes"] = ["; ".join(outcome.notes) for outcome in outcomes]
    return {name: np.array(cells) for name, cells in columns.items()}


def _asked(points: Sequence[JobPoint]) -> dict[str, list[Any]]:
    """Sizes as numbers (0: of traces, or no such plan); other options where a point gives them."""
    said = _settings(points)
    return {
        name: [int(each[name] or 0) if name in _SIZES else each[name] for each in said]
        for name in (said[0] if said else ())
    }


def _numbers(outcomes: Sequence[JobOutcome]) -> dict[str, list[Any]]:
    none = float("nan")
    done = [not outcome.skipped for outcome in outcomes]
    rates = [none if each.tokens_per_second is None else each.tokens_per_second for each in outcomes]
    return {
        "ranks": [outcome.ranks for outcome in outcomes],
        "step_ps": [round(outcome.step_ps) for outcome in outcomes],
        "bound_ps": [round(outcome.bound_ps) for outcome in outcomes],
        "ratio": [outcome.ratio if is_done else none for outcome, is_done in zip(outcomes, done, strict=True)],
        "tokens_per_second": rates,
        "tokens_per_second_a_rank": [rate / max(each.ranks, 1) for rate, each in zip(rates, outcomes, strict=True)],
        "model_flops_utilisation": [none if each.utilisation is None else each.utilisation for each in outcomes],
        "memory_bytes": [outcome.memory_bytes for outcome in outcomes],
        "capacity_bytes": [outcome.capacity_bytes for outcome in outcomes],
        "fits": [int(outcome.fits) for outcome in outcomes],
        "imbalance": [each.imbalance if is_done else none for each, is_done in zip(outcomes, done, strict=True)],
    }


def _times(jobs: SweptJobs, outcomes: Sequence[JobOutcome]) -> dict[str, list[int]]:
    """Of each activity, and of exposed communication and skew also of each dimension."""
    means = [{each.part: each.mean_ps for each in outcome.parts} for outcome in outcomes]
    found: dict[str, list[int]] = {}
    for name, activity in _PARTS.items():
        parts = [part for part in jobs.parts if part.activity is activity]
        if parts or activity in (Activity.COMPUTATION, Activity.COMMUNICATION, Activity.BUBBLE, Activity.SKEW):
            whole = [sum(mean.get(part, 0) for part in parts) for mean in means]
            found[f"{name}_ps"] = [round(time) if mean else -1 for time, mean in zip(whole, means, strict=True)]
        for part in parts:
            if part.dimension:
                times = [round(mean.get(part, 0)) if mean else -1 for mean in means]
                found[f"{name}_ps: {part.dimension}"] = times
    return found
