"""Performs a simulation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from hocket.api.progress import SILENT, Progress
from hocket.api.simulate import astra
from hocket.api.simulate.library import CollectiveLibrary
from hocket.api.simulate.options import check_outputs, disturbance_of, fidelity_of, require_classes
from hocket.api.simulate.question import Question
from hocket.api.simulate.request import Simulation
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.collectives import SENDRECV, kind_called
from hocket.base.errors import FormatError, RequestError
from hocket.base.late_imports import late_imports
from hocket.base.strict_yaml import nearest
from hocket.base.units import format_time
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.schedule import NAMED_KINDS
from hocket.simulator.algorithm_choice import AUTO, LIBRARY, require_algorithm
from hocket.simulator.models import Model

with late_imports(__name__):
    from hocket.api.simulate import collective, job, program, sendrecv
    from hocket.schedule import AnySchedule, Schedule
    from hocket.schedule import load_expanded as load_schedule
    from hocket.simulator import Prediction, simulate_schedule
    from hocket.simulator.ns3_build import built_witness

__all__ = ["perform", "predict_schedule", "question_of"]


def _names(*parts: str) -> set[str]:
    """The fields of these parts of a simulation."""
    return {field.name for field in Simulation.fields() if field.path[0] in parts}


# Fields, by what is simulated; the others would do nothing.
_ANY = {"what"} | _names("fidelity", "outputs")
_PROGRAM = _ANY | _names("disturbances") | {"topology", "size", "root", "runtime", "costs"}
_COLLECTIVE = _ANY | _names("nccl", "disturbances") | {"topology", "size", "algorithm", "library", "chunks", "root"}
_COLLECTIVE |= {"times"}
_SENDRECV = _ANY | _names("nccl") | {"topology", "size", "library", "degrade"}
_TRACES = _ANY | _names("nccl", "job") | {"topology", "algorithm", "library", "chunks", "degrade"}
_NAME = re.compile("[A-Za-z_]+")
#: Endings of files that hold a program.
PROGRAMS = (".xml", ".json")


def perform(request: Simulation, progress: Progress) -> SimulationResult | CurvesResult | astra.AstraResult:
    """Predicts what is asked for, and writes what is wanted of it.

    Raises RequestError for options that make no sense together, FormatError and TraceError for what cannot be read,
    and what `hocket.simulator.simulate_*` raise.
    """
    astra.refuse_mixed(request)
    if request.astra.compat is not None:
        return astra.perform(request)
    request = _called_as_here(request)
    question = question_of(request, progress)
    result = _performer(request)(question)
    if isinstance(result, SimulationResult) and request.outputs.csv:
        raise RequestError("--csv is for several sizes or algorithms of a collective; one prediction has --tables")
    result.write()
    return result


def _called_as_here(request: Simulation) -> Simulation:
    """The request by our own word for a collective that others call otherwise: AllReduce, alltoall_perf."""
    what = request.what
    if what in (*NAMED_KINDS, SENDRECV) or not _NAME.fullmatch(what) or _is_there(what):
        return request
    kind = SENDRECV if re.match("send_?recv", what.lower()) else kind_called(what)
    return structs.replace(request, what=kind) if kind in (*NAMED_KINDS, SENDRECV) else request


def predict_schedule(request: Simulation, schedule: AnySchedule) -> SimulationResult:
    """As `perform` of a schedule that is in memory, as if it were in the request's file."""
    result = _schedule(question_of(request, SILENT), schedule)
    result.write()
    return result


def question_of(request: Simulation, progress: Progress) -> Question:
    check_outputs(request.outputs)
    for text in request.algorithm:
        kind, _, name = text.rpartition("=")
        if not is_nccl(name) and not is_nccl_model(name):
            require_algorithm(kind or "--algorithm", name, (AUTO, LIBRARY))
    fidelity = fidelity_of(request.fidelity, request.outputs)
    if fidelity.model == Model.NS3:
        built_witness(progress.note)
    return Question(request, fidelity, disturbance_of(request.disturbances), progress)


def _performer(request: Simulation) -> Callable[[Question], SimulationResult | CurvesResult]:
    """What simulates the sort of thing that is asked for; refuses options of other sorts."""
    what = request.what
    is_sendrecv = what == SENDRECV and not _is_there(what)
    is_collective = what in NAMED_KINDS and not os.path.exists(what)
    is_program = what.endswith(PROGRAMS)
    of_traces = {"accelerator", "remote_memory", "placement", "compute_scale", "overlap_slowdown"}
    if of_traces & request.set_fields().keys() and (
        is_collective or is_sendrecv or is_program or what.endswith(".schedule")
    ):
        raise RequestError(
            "--accelerator, --remote-memory, --placement, --compute-scale and --overlap-slowdown are for traces:"
            f" {what} has no computation"
        )
    names = [name.rpartition("=")[2] for name in request.algorithm]
    stock = is_collective and all(name == LIBRARY or is_nccl(name) for name in names)
    stock = stock and request.library != CollectiveLibrary.NONE
    if (request.disturbances.late or request.disturbances.traffic) and not (stock or is_program):
        raise RequestError("--late and --traffic are for programs and for a collective that NCCL runs")
    if is_program:
        request.take_only(_PROGRAM, f"{what} is a program for any size")
        return program.simulate
    if what.endswith(".schedule"):
        return _schedule
    if not request.topology:
        raise RequestError("--topology is missing, such as --topology dgx-h100:nodes=2")
    if is_collective:
        request.take_only(_COLLECTIVE, f"{what} is a collective, without computation and groups")
        return collective.simulate
    if is_sendrecv:
        request.take_only(_SENDRECV, "sendrecv is a message of each rank to the next")
        return sendrecv.simulate
    if not _is_there(what):
        known = nearest(what, (*NAMED_KINDS, SENDRECV))
        raise FormatError(f"{what}: no trace here (files PREFIX.<rank>.et), no collective; {known}")
    return _traces


def _schedule(question: Question, schedule: AnySchedule | None = None) -> SimulationResult:
    request = question.request
    asked = {
        "--topology": request.topology,
        "--algorithm": request.algorithm,
        "--size": request.size,
        "--degrade": request.disturbances.degrade,
    }
    if any(asked.values()):
        dropped = ", ".join(option for option, value in asked.items() if value)
        raise RequestError(
            f"{request.what} is a schedule, with topology, size and algorithm of its own: drop {dropped}"
        )
    if request.fidelity.routing is not None:
        raise RequestError(f"--routing {request.fidelity.routing}: routes are the schedule's own: drop --routing")
    request.take_only(_ANY, f"{request.what} is a schedule, with root, chunks and ranks of its own")
    expanded = load_schedule(request.what) if schedule is None else schedule.expand()
    require_classes(question.fidelity, expanded.topology)
    prediction = simulate_schedule(expanded, question.fidelity)
    return SimulationResult(request, [replace(prediction, notes=(*prediction.notes, *_own_time(expanded, prediction)))])


def _own_time(schedule: Schedule, prediction: Prediction) -> Iterator[str]:
    """Why the schedule's own time, as `hocket synthesize` and `verify` print it, is another."""
    if schedule.timed and schedule.time_ps != prediction.time_ps:
        yield (
            f"the schedule's own time is {format_time(schedule.time_ps)}: it holds all links of a route from the start"
            " of a transfer, in the schedule's order on every link; simulated, a link is held while bytes cross it, and"
            " only transfers of one route keep their order (docs/synthesizer.md#own-time-and-simulated-time)"
        )


def _traces(question: Question) -> SimulationResult:
    request = question.request
    if request.size is not None:
        raise RequestError("--size is for a collective; traces have their own sizes")
    request.take_only(_TRACES, "traces have their own roots, and no program")
    simulated = job.of(question, job.read_job(request.what, request.job.groups))
    return SimulationResult(request, [simulated.on(spec) for spec in request.topology])


def _is_there(prefix: str) -> bool:
    """Whether this is a path, or the prefix of traces."""
    path = Path(prefix)
    return path.exists() or any(file.name.startswith(f"{path.name}.") for file in path.parent.glob("*.et"))
