"""A program on topologies, at one size or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hocket.api.simulate.options import sizes_of
from hocket.api.simulate.question import Question
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.errors import RequestError, TopologyError
from hocket.base.units import format_bandwidth, format_bytes, format_limit, format_time
from hocket.schedule import Pace, Program, read_costs
from hocket.simulator import Model, Prediction, simulate_program
from hocket.simulator.curves import SimulatedCurve, curve_of_predictions
from hocket.topology import Topology
from hocket.translator import PROFILES, priced_protocols, read_file, read_program

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
    runtime = request.runtime or _named_runtime(request.what) or "executor"
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
        protocols = priced_protocols(runtime, costs, topology)
        fidelity = replace(question.fidelity, latencies=latencies or question.fidelity.latencies)
        asked = request.fidelity.model or request.fidelity.queueing
        if protocols[program.protocol].pace is not None and not asked:
            fidelity = replace(fidelity, model=Model.FLOW)
        found = simulate_program(
            program, topology, size, protocols=protocols, disturbance=question.disturbance, fidelity=fidelity
        )
        return replace(
            found,
            assumed=(*found.assumed, _priced(runtime, protocols[program.protocol].pace)),
            notes=(*found.notes, *_not_selected(program, [size])),
        )

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
    for note in _not_selected(program, sizes):
        question.progress.note(f"note: {note}")
    return CurvesResult(request, program.kind, [curve(topology) for topology in topologies])


def _named_runtime(path: str) -> str | None:
    """The runtime that the program's XML was written for, where it says so."""
    if path.endswith(".json"):
        return None
    named = read_file(path).algorithm.text("runtime", 0)
    return named if named in PROFILES else None


def _not_selected(program: Program, sizes: Sequence[int]) -> Iterator[str]:
    """Which of the sizes a runtime would run another algorithm at, as the program is meant for others."""
    least, most = program.min_bytes, program.max_bytes
    outside = [size for size in sizes if size < least or (most and size > most)]
    if outside:
        at = " to ".join(dict.fromkeys(map(format_bytes, (outside[0], outside[-1]))))
        calls = (
            f"of {format_limit(least)} to {format_limit(most)}" if most > 0 else f"of at least {format_limit(least)}"
        )
        selected = "no calls" if most < 0 else f"calls {calls} alone"
        yield f"{program.name} is for {selected} (minBytes, maxBytes): at {at} a runtime would not run it"


def _priced(runtime: str, pace: Pace | None) -> str:
    """What the time counts of the runtime's kernels."""
    if pace is None:
        return f"links alone: what kernels of {runtime} take here is not known; --costs FILE says it"
    return (
        f"kernels of {runtime}: launch {format_time(pace.start_ps)}, a step {format_time(pace.inside_ps)}, a thread"
        f" block {format_bandwidth(pace.bandwidth)}; thread blocks share links fairly, unless a --model is given"
    )
