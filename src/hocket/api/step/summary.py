"""What is known of a job's step itself, before it is held against anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hocket.api.progress import Progress
from hocket.api.simulate import job
from hocket.api.simulate.job import SimulatedJob
from hocket.api.simulate.perform import question_of
from hocket.api.step.request import StepReport
from hocket.base.errors import RequestError
from hocket.base.units import format_time
from hocket.chakra import TraceSet
from hocket.chakra.roles import kinds_of_traces
from hocket.simulator import Model, Prediction
from hocket.simulator.analysis import StepSummary, job_facts, step_shares, step_table
from hocket.simulator.analysis.dimensions import purposes_of_groups
from hocket.simulator.installation import installation
from hocket.simulator.recorded_times import recorded_times

__all__ = ["SimulatedStep", "simulated_step"]

_MUCH = 0.05  # of the time
_FAR = 0.1  # of the recorded time, from which on a prediction of the same machine is worth a look


@dataclass(frozen=True, eq=False)
class SimulatedStep:
    """The job as it is simulated, what its process groups are for, and what came out: no contenders, no what-ifs."""

    job: SimulatedJob
    purposes: Mapping[str, str]
    summary: StepSummary


def simulated_step(request: StepReport, traces: TraceSet | None, progress: Progress) -> SimulatedStep:
    """Simulates the job of these traces (None: of those that the request names) and divides its time.

    Raises RequestError for options that make no sense together, and what `simulate` of traces raises.
    """
    asked_for, spec = request.simulated, request.simulated.topology
    if asked_for.fidelity.model == Model.BOUND:
        raise RequestError("--model bound has no waits to divide: drop it, the report prints the bound")
    question = question_of(asked_for.simulation(), progress)
    if traces is None:
        traces = job.read_job(asked_for.traces, asked_for.job.groups)
    simulated = replace(job.of(question, traces), folded=True)
    asked = simulated.on(spec)
    purposes = purposes_of_groups(traces)
    priced_by = (simulated.accelerator or installation(spec).accelerator) if asked_for.job.reprice else None
    summary = StepSummary(
        prediction=replace(asked, notes=(*asked.notes, *_notes(traces, asked))),
        shares=step_shares(asked, traces.groups, purposes),
        facts=job_facts(traces, spec, asked, request.tokens, 1e15 * (request.model_pflop or 0), priced_by),
    )
    return SimulatedStep(simulated, purposes, summary)


def _notes(traces: TraceSet, prediction: Prediction) -> Iterator[str]:
    """What a reader must know of where the traces come from."""
    filled = sum(count for trace, count in kinds_of_traces(traces) if "completed_from" in trace.metadata)
    if filled:
        yield (
            f"{filled} of {traces.num_ranks} ranks were filled in from those that were recorded: their skew and"
            " imbalance are not known"
        )
    steps = step_table(prediction)
    if len(steps["step"]):
        outside = prediction.time_ps - int(steps["finish_ps"].max() - steps["start_ps"].min())
        if outside > _MUCH * prediction.time_ps:
            yield (
                f"{format_time(outside)} of the {format_time(prediction.time_ps)} are outside the told steps, such as"
                " what was launched before the first: a step here is a part of the whole, hocket simulate prints the"
                " steps alone"
            )
    left = prediction.workload.rank_numbers.tolist()  # one of the ranks that do alike
    told = TraceSet(tuple(traces.traces[rank] for rank in left), traces.groups)
    recorded = recorded_times(told, prediction.workload)
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
