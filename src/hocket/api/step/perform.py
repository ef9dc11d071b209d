"""Makes the report of a job's step."""

from __future__ import annotations

from dataclasses import replace

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.step.changes import StepChanges
from hocket.api.step.contenders import Contenders
from hocket.api.step.request import StepReport
from hocket.api.step.result import StepResult
from hocket.api.step.summary import simulated_step
from hocket.api.step.text import head_lines
from hocket.base.files import write_json
from hocket.report.step_page import step_content

__all__ = ["perform"]


def perform(request: StepReport, progress: Progress) -> StepResult:
    """Simulates the job, divides its time, and asks what would shorten it.

    Raises RequestError for options that make no sense together, and what `simulate` of traces raises.
    """
    simulated = simulated_step(request, None, progress)
    step, spec = simulated.summary, request.simulated.topology
    for line in head_lines(step):
        progress.say(line)
    contenders = Contenders.of(simulated.job, spec, step.prediction, progress)
    if request.synthesize:
        contenders.synthesize(simulated.purposes, progress)
    changes = StepChanges(simulated.job, spec, step.prediction, contenders.native, contenders.programs, progress)
    what_ifs, not_tried = changes.simulated() if request.what_if else ((), ())
    step = replace(step, contenders=contenders.rows(), what_ifs=what_ifs, not_tried=(*contenders.not_tried, *not_tried))
    result = StepResult(request, step)
    if request.json:
        write_json(request.json, result.as_json())
    if request.report:
        write_page(request.report, step_content(result.facts, result.predicted).html(), result)
    return result
