"""Makes the report of a job's step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.simulate import job
from hocket.api.simulate.perform import question_of
from hocket.api.step.changes import StepChanges
from hocket.api.step.contenders import Contenders
from hocket.api.step.request import StepReport
from hocket.api.step.result import StepResult
from hocket.api.step.text import head_lines
from hocket.base.errors import RequestError
from hocket.base.files import write_json
from hocket.base.units import format_time
from hocket.chakra import TraceSet
from hocket.chakra.roles import kinds_of_traces
from hocket.report.step_page import step_page
from hocket.simulator import Model, Prediction
from hocket.simulator.analysis import StepSummary, job_facts, step_shares
from hocket.simulator.analysis.dimensions import purposes_of_groups
from hocket.simulator.installation import installation
from hocket.simulator.recorded_times import recorded_times

__all__ = ["perform"]

_FAR = 0.1  # of the recorded time, from which on a prediction of the same machine is worth a look


def perform(request: StepReport, progress: Progress) -> StepResult:
    """Simulates the job, divides its time, and asks what would shorten it.

    Raises RequestError for options that make no sense together, and what `simulate` of traces raises.
    """
    asked_for = request.simulated
    if asked_for.fidelity.model == Model.BOUND:
        raise RequestError("--model bound has no waits to divide: drop it, the report prints the bound")
    question = question_of(asked_for.simulation(), progress)
    traces, spec = job.read_job(asked_for.traces, asked_for.job.groups), asked_for.topology
    simulated = replace(job.of(question, traces), folded=True)
    asked = simulated.on(spec)
    purposes = purposes_of_groups(traces)
    priced_by = (simulated.accelerator or installation(spec).accelerator) if asked_for.job.reprice else None
    step = StepSummary(
        prediction=replace(asked, notes=(*asked.notes, *_notes(traces, asked))),
        shares=step_shares(asked, traces.groups, purposes),
        facts=job_facts(traces, spec, asked, request.tokens, 1e15 * (request.model_pflop or 0), priced_by),
    )
    for line in head_lines(step):
        progress.say(line)
    contenders = Contenders.of(simulated, spec, asked, progress)
    if request.synthesize:
        contenders.synthesize(purposes, progress)
    changes = StepChanges(simulated, spec, asked, contenders.native, contenders.programs, progress)
    what_ifs, not_tried = changes.simulated() if request.what_if else ((), ())
    step = replace(step, contenders=contenders.rows(), what_ifs=what_ifs, not_tried=(*contenders.not_tried, *not_tried))
    result = StepResult(request, step)
    if request.json:
        write_json(request.json, result.as_json())
    if request.report:
        write_page(request.report, step_page(step), request)
    return result


def _notes(traces: TraceSet, prediction: Prediction) -> Iterator[str]:
    """What a reader must know of where the traces come from."""
    filled = sum(count for trace, count in kinds_of_traces(traces) if "completed_from" in trace.metadata)
    if filled:
        yield (
            f"{filled} of {traces.num_ranks} ranks were filled in from those that were recorded: their skew and"
            " imbalance are not known"
        )
    if prediction.workload.replicas is not None:  # nobody recorded ranks that do alike
        return
    recorded = recorded_times(traces, prediction.workload)
    if recorded is None:
        return
    known = recorded.known
    took = int(recorded.finish_ps[known].max() - recorded.start_ps[known].min())
    off = prediction.time_ps / max(took, 1) - 1
    if abs(off) > _FAR:
        yield (
            f"the recording itself took {format_time(took)} where it ran, and this is {off:+.0%} of that: another"
            " cluster, waits for ranks that nobody saw, or work that went on side by side; hocket validate says more"
        )
