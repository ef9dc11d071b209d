"""Holds a recorded job against its prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.api.generate.job_file import is_job_file
from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate import job
from hocket.api.simulate.perform import question_of
from hocket.api.validate.request import JobValidation
from hocket.api.validate.result import ValidationResult
from hocket.base.errors import RequestError, TraceError
from hocket.base.files import write_json
from hocket.base.units import format_time
from hocket.chakra import TraceSet, read_traces
from hocket.chakra.reading import rank_files
from hocket.chakra.steps import NO_STEP
from hocket.report.validation_page import validation_content
from hocket.simulator import Fidelity, Model, Prediction
from hocket.simulator.analysis import ComparedCalls, Validation, calls_of, corrected_by, steps_of, validation
from hocket.simulator.analysis.dimensions import purposes_of_groups
from hocket.simulator.clocks import ClockCheck, clock_check
from hocket.simulator.measured_calls import FittedSteps
from hocket.simulator.recorded_times import NodeTimes, recorded_times, times_fault

__all__ = ["perform"]

_MOST_APART = 0.5  # of the collectives, from which on there are no two ways about clocks
_SOME_APART = 0.02


def perform(request: JobValidation, progress: Progress) -> ValidationResult:
    """Simulates the job and says how far each sort of its collectives, and its steps, are from what was recorded.

    Raises RequestError for options that make no sense together, and where the traces hold too little to fit to a part
    of it; TraceError where the traces recorded no times, or times of several clocks; and what `simulate` of traces
    raises.
    """
    asked = request.simulated
    if asked.fidelity.model == Model.BOUND:
        raise RequestError("--model bound predicts no times: drop it")
    if is_job_file(asked.traces):
        raise RequestError(f"{asked.traces} is a job that nobody ran: give the traces of a recorded one")
    traces = read_traces(asked.traces, asked.job.groups)
    was_recorded = _were_recorded(traces)
    question = question_of(asked.simulation(), progress)
    prediction = replace(job.of(question, traces), folded=False).on(asked.topology)  # ranks were recorded one by one
    times = _times(asked.traces, traces, prediction)
    clocks = clock_check(prediction.workload, times, was_recorded)
    _require_one_clock(asked.traces, clocks)
    purposes = purposes_of_groups(traces)
    calls = calls_of(prediction, times, was_recorded, purposes)
    plain = validation(calls, steps_of(prediction, times))
    result = ValidationResult(
        request=request,
        prediction=prediction,
        plain=plain,
        fitted=(
            _fitted(request.fit, prediction, times, was_recorded, purposes, question.fidelity) if request.fit else None
        ),
        notes=tuple(_notes(prediction, was_recorded, calls, clocks, request.fit)),
    )
    if request.json:
        write_json(request.json, result.as_json())
    if request.report:
        write_page(request.report, validation_content(result.facts).html(), result)
    return result


def _were_recorded(traces: TraceSet) -> NDArray[np.bool_]:
    """Of each rank, whether it was recorded, not made of another (`hocket trace complete`)."""
    return np.array(["completed_from" not in trace.metadata for trace in traces.traces])


def _times(path: str, traces: TraceSet, prediction: Prediction) -> NodeTimes:
    times = recorded_times(traces, prediction.workload)
    if times is None:
        fault = times_fault(traces, prediction.workload)
        assert fault is not None
        place = path if fault.rank is None else rank_files(Path(path))[fault.rank]
        raise TraceError(f"{place}: {fault.because}")
    return times


def _require_one_clock(path: str, clocks: ClockCheck) -> None:
    if clocks.share > _MOST_APART:
        raise TraceError(
            f"{path}: the ranks' times do not fit together (several clocks, starts of their own, or a part of each"
            f" operation): {_apart(clocks)}, rank {clocks.ahead} most often {format_time(clocks.gap_ps)} after rank"
            f" {clocks.behind} was done. Record with hocket collect, which brings clocks together, set the hosts'"
            " clocks by PTP before profiling, or make the job of one rank's trace with hocket trace complete"
        )


def _apart(clocks: ClockCheck) -> str:
    return (
        f"in {clocks.apart} of {clocks.checked} collectives that nobody leaves before all have entered, a rank entered"
        " after another had left"
    )


def _fitted(
    fit: str,
    prediction: Prediction,
    times: NodeTimes,
    was_recorded: NDArray[np.bool_],
    purposes: Mapping[str, str],
    fidelity: Fidelity,
) -> tuple[Validation, Validation]:
    """Of the steps that are not fitted to: the errors as predicted, and as corrected by the others. Where no steps are
    told there are none: the job is one, and in it are calls that were fitted to."""
    calls = calls_of(prediction, times, was_recorded, purposes)
    seen = calls.seen_by_all
    _require_seen(fit, seen)
    steps = np.unique(calls.step[seen & (calls.step != NO_STEP)]).tolist()
    known = FittedSteps(fit).of(steps)
    if not known or len(known) == len(steps):
        what = "steps with collectives" if calls.steps_told else "turns of collectives (no steps are told)"
        raise RequestError(
            f"--fit {fit}: of the traces' {len(steps)} {what} it takes {len(known)}, and some have to be left on both"
            " sides, to fit to and to predict: record more, or fit to others"
        )
    fitted = np.isin(calls.step, known)
    corrected = corrected_by(calls, fitted & seen, prediction, fidelity)
    apart = calls_of(corrected, times, was_recorded, purposes)
    # Sorts are told by what ran: the algorithm is that which was predicted first.
    apart = replace(apart, algorithm=calls.algorithm)

    def held_out(of: Prediction, their: ComparedCalls) -> Validation:
        steps = [step for step in steps_of(of, times) if step.step not in known] if calls.steps_told else []
        return validation(their, steps, ~fitted & seen)

    return held_out(prediction, calls), held_out(corrected, apart)


def _require_seen(fit: str, seen: NDArray[np.bool_]) -> None:
    """That some collectives (mask) were recorded on all of their ranks."""
    if not len(seen):
        raise RequestError(f"--fit {fit}: the job has no collectives, and messages are not corrected: drop --fit")
    if not seen.any():
        raise RequestError(
            f"--fit {fit}: no collective was recorded on all of its ranks (the others are filled in by hocket trace"
            " complete), so its recorded time is the wait for ranks that nobody saw as well: record every rank, or drop"
            " --fit"
        )


def _notes(
    prediction: Prediction, was_recorded: NDArray[np.bool_], calls: ComparedCalls, clocks: ClockCheck, fit: str | None
) -> Iterator[str]:
    if not was_recorded.all():
        yield (
            f"{was_recorded.sum()} of {len(was_recorded)} ranks were recorded, the others are filled in from them: what"
            " was recorded of a collective includes the wait for ranks that nobody saw"
        )
    if fit and not calls.seen_by_all.all():
        yield (
            f"--fit leaves out the {(~calls.seen_by_all).sum()} of {len(calls.seen_by_all)} collectives that were not"
            " recorded on all of their ranks"
        )
    if clocks.share > _SOME_APART:
        yield (
            f"{_apart(clocks)}: the ranks' clocks differ, or operations were timed in part, and times of collectives"
            " are wrong by as much"
        )
    unknown = int((calls.recorded_ps < 0).sum())
    if unknown:
        yield f"{unknown} of {len(calls.recorded_ps)} collectives have no recorded duration on every rank: not compared"
    if messages := len(prediction.workload.message_src):
        yield (
            f"messages ({messages}) are compared in the steps' times alone: a receive was recorded with the wait for"
            " its send"
        )
