"""Every rank sends to the next one and receives from the one before, as nccl-tests' sendrecv_perf does."""

from __future__ import annotations

from dataclasses import replace

from hocket.api.simulate.library import StockMachine, asks_for_library, assumed_of_curves, stock_machine
from hocket.api.simulate.options import sizes_of
from hocket.api.simulate.question import Question
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.collectives import SENDRECV
from hocket.base.errors import RequestError
from hocket.base.late_imports import late_imports
from hocket.simulator import Model, Prediction
from hocket.simulator.algorithm_choice import DEFAULT_ALGORITHMS, LIBRARY

with late_imports(__name__):
    from hocket.chakra import TraceBuilder, TraceSet
    from hocket.simulator import simulate_traces
    from hocket.simulator.curves import SimulatedCurve, curve_of_predictions

__all__ = ["simulate"]

_NATIVE = "the messages, without a launch"


def simulate(question: Question) -> SimulationResult | CurvesResult:
    """A prediction a topology, or a curve for each."""
    request = question.request
    if request.size is None:
        raise RequestError("--size is missing: how many bytes does each rank send? such as --size 64MiB")
    sizes, runs = sizes_of(request.size), asks_for_library(request, [], covers_all=True)
    machines = {
        spec: stock_machine(question, spec, runs=runs, native=_NATIVE, alpha_beta="its messages")
        for spec in request.topology
    }
    if len(sizes) == 1:
        return SimulationResult(request, [_predict(question, each, sizes[0]) for each in machines.values()])
    if request.outputs.timeline or request.outputs.tables:
        raise RequestError("--timeline and --tables are for one size; several have --csv")

    def curve_of(spec: str) -> SimulatedCurve:
        def predicted(size: int, latencies: bool) -> Prediction:
            return _predict(question, machines[spec], size)

        return curve_of_predictions(spec, "messages", sizes, predicted)

    curves = [curve_of(spec) for spec in request.topology]
    return CurvesResult(request, SENDRECV, curves, assumed_of_curves(machines, curves))


def _predict(question: Question, machine: StockMachine, size: int) -> Prediction:
    traces = _neighbours(machine.topology.num_ranks, size)
    algorithms = dict.fromkeys(DEFAULT_ALGORITHMS, LIBRARY) if machine.nccl else {}
    fidelity = question.fidelity
    if not {"model", "switching", "queueing"} & question.request.set_fields().keys():
        fidelity = replace(fidelity, model=Model.FLOW)  # libraries send slices, which take turns on a link
    found = simulate_traces(
        traces,
        machine.topology,
        algorithms=algorithms,
        nccl=machine.nccl,
        launch_ps=machine.launch_ps,
        fidelity=fidelity,
    )
    return machine.said(found)


def _neighbours(ranks: int, size_bytes: int) -> TraceSet:
    """The job in which each rank sends so many bytes to the next, around the end."""
    builders = [TraceBuilder() for _ in range(ranks)]
    for rank, builder in enumerate(builders):
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        builder.add_send("send", size_bytes, src=rank, dst=after)
        builder.add_recv("recv", size_bytes, src=before, dst=rank)
    return TraceSet(tuple(builder.build() for builder in builders))
