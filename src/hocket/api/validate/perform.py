"""Holds a recorded job against its prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate import job
from hocket.api.simulate.perform import question_of
from hocket.api.validate.request import JobValidation
from hocket.api.validate.result import ValidationResult
from hocket.base.errors import RequestError
from hocket.base.files import write_json
from hocket.chakra import TraceSet, read_traces
from hocket.chakra.steps import NO_STEP
from hocket.report.validation_page import validation_page
from hocket.simulator import Fidelity, Model, Prediction
from hocket.simulator.analysis import ComparedCalls, Validation, calls_of, corrected_by, steps_of, validation
from hocket.simulator.measured_calls import FittedSteps
from hocket.simulator.recorded_times import NodeTimes, recorded_times

__all__ = ["perform"]


def perform(request: JobValidation, progress: Progress) -> ValidationResult:
    """Simulates the job and says how far each sort of its collectives, and its steps, are from what was recorded.

    Raises RequestError where the traces recorded no times, or hold too few steps to fit to some of them, and what
    `simulate` of traces raises.
    """
    asked = request.simulated
    if asked.fidelity.model == Model.BOUND:
        raise RequestError("--model bound predicts no times: drop it")
    traces = read_traces(asked.traces, asked.job.groups)
    question = question_of(asked.simulation(), progress)
    prediction = job.of(question, traces).on(asked.topology)
    recorded = recorded_times(traces, prediction.workload)
    if recorded is None:
        raise RequestError(
            f"{asked.traces}: no communication has a recorded duration, so there is nothing to hold against: record the"
            " job with hocket collect, or import a profile of it"
        )
    calls = calls_of(prediction, recorded, not _filled(traces))
    plain = validation(calls, steps_of(prediction, recorded))
    result = ValidationResult(
        request=request,
        prediction=prediction,
        plain=plain,
        fitted=_fitted(request.fit, prediction, recorded, calls, question.fidelity) if request.fit else None,
        notes=tuple(_notes(traces, calls)),
    )
    if request.json:
        write_json(request.json, result.as_json())
    if request.report:
        write_page(request.report, validation_page(prediction, plain, result.fitted, result.notes), request)
    return result


def _fitted(
    fit: str, prediction: Prediction, recorded: NodeTimes, calls: ComparedCalls, fidelity: Fidelity
) -> tuple[Validation, Validation]:
    """Of the steps that are not fitted to: the errors as predicted, and as corrected by the others."""
    steps = np.unique(calls.step[calls.step != NO_STEP]).tolist()
    known = FittedSteps(fit).of(steps)
    if not known or len(known) == len(steps):
        raise RequestError(
            f"--fit {fit}: the traces hold {len(steps)} steps with collectives (or calls of a sort, where no steps are"
            " told), and it takes 2 at least, some to fit to and some to predict"
        )
    others = ~np.isin(calls.step, known)
    corrected = corrected_by(calls, ~others, prediction, fidelity)
    apart = calls_of(corrected, recorded, calls.seen_by_all)
    # Sorts are told by what ran: the algorithm is that which was predicted first.
    apart = replace(apart, algorithm=calls.algorithm)

    def held_out(of: Prediction, their: ComparedCalls) -> Validation:
        return validation(their, [step for step in steps_of(of, recorded) if step.step not in known], others)

    return held_out(prediction, calls), held_out(corrected, apart)


def _filled(traces: TraceSet) -> int:
    """How many ranks were made of others (`hocket trace complete`)."""
    return sum("completed_from" in trace.metadata for trace in traces.traces)


def _notes(traces: TraceSet, calls: ComparedCalls) -> Iterator[str]:
    if filled := _filled(traces):
        yield (
            f"{traces.num_ranks - filled} of {traces.num_ranks} ranks were recorded, the others are filled in from"
            " them: what was recorded of a collective includes the wait for ranks that nobody saw"
        )
    unknown = int((calls.recorded_ps < 0).sum())
    if unknown:
        yield f"{unknown} of {len(calls.recorded_ps)} collectives have no recorded duration on every rank: not compared"
