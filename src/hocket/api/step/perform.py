"""Makes the report of a job's step."""

from __future__ import annotations

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate import job
from hocket.api.simulate.perform import question_of
from hocket.api.step.changes import LAUNCH_PS, StepChanges
from hocket.api.step.request import StepReport
from hocket.api.step.result import StepResult
from hocket.base.errors import RequestError
from hocket.base.files import write_json
from hocket.chakra import read_traces
from hocket.report.step_page import step_page
from hocket.simulator import Model
from hocket.simulator.analysis import StepSummary, job_facts, step_shares, step_table

__all__ = ["perform"]


def perform(request: StepReport, progress: Progress) -> StepResult:
    """Simulates the job, divides its time, and asks what would shorten it.

    Raises RequestError for options that make no sense together, and what `simulate` of traces raises.
    """
    asked_for = request.simulated
    if asked_for.fidelity.model == Model.BOUND:
        raise RequestError("--model bound has no waits to divide: drop it, the report prints the bound")
    question = question_of(asked_for.simulation(), progress)
    traces = read_traces(asked_for.traces, asked_for.job.groups)
    simulated = job.of(question, traces)
    asked = simulated.on(asked_for.topology)
    topology = question.topology(asked_for.topology)
    steps = len(step_table(asked)["step"])
    native = simulated.natively_on(asked_for.topology, topology, LAUNCH_PS)
    changes = StepChanges(simulated, asked_for.topology, topology, asked, native, progress)
    what_ifs, not_tried = changes.simulated() if request.what_if else ((), ())
    first = "the stock library" if simulated.runs_library else "the algorithms asked for"
    step = StepSummary(
        prediction=asked,
        shares=step_shares(asked, traces.groups),
        facts=job_facts(traces, asked_for.topology, steps, request.tokens, 1e15 * (request.model_pflop or 0)),
        contenders=(
            (first, asked.time_ps),
            ("native algorithms, the fastest on its links", native.time_ps),
            ("the bound", asked.bound_ps),
        ),
        what_ifs=what_ifs,
        not_tried=not_tried,
    )
    result = StepResult(request, step)
    if request.json:
        write_json(request.json, result.as_json())
    if request.report:
        write_page(request.report, step_page(step), request)
    return result
