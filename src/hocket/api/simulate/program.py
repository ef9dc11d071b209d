"""A program on topologies, at one size or several."""

from __future__ import annotations

from dataclasses import replace

from hocket.api.simulate.options import sizes_of
from hocket.api.simulate.question import Question
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.errors import RequestError, TopologyError
from hocket.base.units import format_bandwidth, format_time
from hocket.schedule import Pace, read_costs
from hocket.simulator import Model, Prediction, simulate_program
from hocket.simulator.curves import SimulatedCurve, curve_of_predictions
from hocket.topology import Topology
from hocket.translator import priced_protocols, read_program

__all__ = ["simulate"]


def simulate(question: Question) -> SimulationResult | CurvesResult:
    """A prediction or a curve a topology."""
    request = question.request
    if not request.topology or request.size is None:
        missing = [] if request.topology else ["--topology"]
        missing += [] if request.size is not None else ["--size, such as --size 64MiB"]
        raise RequestError(f"{request.what} is a program for any size and network: add {' and '.join(missing)}")
    topologies = [question.topology(spec) for spec in request.topology]
    sizes = sizes_of(request.size)
    costs = None if request.costs is None else read_costs(request.costs)
    program = read_program(request.what, root=request.root)
    for topology in topologies:
        if program.num_ranks > topology.num_ranks:
            raise TopologyError(
                f"{request.what} is for {program.num_ranks} ranks, {topology.name} has {topology.num_ranks}:"
                f" choose a topology with at least {program.num_ranks} ranks, such as more nodes (nodes=2)"
            )
        if program.num_ranks < topology.num_ranks:
            used = f"ranks 0 to {program.num_ranks - 1} of the {topology.num_ranks} of {topology.name}"
            question.progress.note(f"note: {request.what} is for {program.num_ranks} ranks: it runs on {used}")

    def predicted(topology: Topology, size: int, latencies: bool = False) -> Prediction:
        protocols = priced_protocols(request.runtime, costs, topology)
        fidelity = replace(question.fidelity, latencies=latencies or question.fidelity.latencies)
        asked = request.fidelity.model or request.fidelity.queueing
        if protocols[program.protocol].pace is not None and not asked:
            fidelity = replace(fidelity, model=Model.FLOW)
        found = simulate_program(
            program, topology, size, protocols=protocols, disturbance=question.disturbance, fidelity=fidelity
        )
        return replace(found, assumed=(*found.assumed, _priced(request.runtime, protocols[program.protocol].pace)))

    def curve(topology: Topology) -> SimulatedCurve:
        return curve_of_predictions(
            topology.name,
            program.name,
            sizes,
            lambda size, latencies: predicted(topology, size, latencies),
            least_bytes=program.chunks_per_loop,
        )

    if len(sizes) == 1:
        return SimulationResult(request, [predicted(topology, sizes[0]) for topology in topologies])
    if request.outputs.timeline or request.outputs.tables:
        raise RequestError("--timeline and --tables are for one size and algorithm; several have --csv")
    return CurvesResult(request, program.kind, [curve(topology) for topology in topologies])


def _priced(runtime: str, pace: Pace | None) -> str:
    """What the time counts of the runtime's kernels."""
    if pace is None:
        return f"links alone: what kernels of {runtime} take here is not known; --costs FILE says it"
    return (
        f"kernels of {runtime}: launch {format_time(pace.start_ps)}, a step {format_time(pace.inside_ps)}, a thread"
        f" block {format_bandwidth(pace.bandwidth)}; thread blocks share links fairly, unless a --model is given"
    )
