"""A collective on topologies, at one size or several, by one algorithm or several."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hocket.api.simulate.options import nccl_of, sizes_of
from hocket.api.simulate.question import Question
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.errors import HocketError, RequestError, SimulationError
from hocket.base.late_imports import late_imports
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS
from hocket.simulator import Prediction, simulate_collective

with late_imports(__name__):
    from hocket.simulator.curves import SimulatedCurve, curve_of_predictions

__all__ = ["simulate"]


def simulate(question: Question) -> SimulationResult | CurvesResult:
    """A prediction a topology, or a curve for each topology and algorithm."""
    request = question.request
    if request.size is None:
        raise RequestError(f"--size is missing: {request.what} of how many bytes? such as --size 64MiB")
    if request.root and not Kind(request.what).rooted:
        raise RequestError(f"--root {request.root}: {request.what} has no root: drop it")
    names = [name.removeprefix(f"{request.what}=") for name in request.algorithm] or ["auto"]
    sizes = sizes_of(request.size)
    if len(sizes) == len(names) == 1:
        return SimulationResult(request, [_predict(question, spec, names[0], sizes[0]) for spec in request.topology])
    if request.outputs.timeline or request.outputs.tables:
        raise RequestError("--timeline and --tables are for one size and algorithm; several have --csv")
    if any(map(is_nccl_model, names)):
        raise RequestError("nccl-model takes one size; hocket nccl choose says its times for many")
    return CurvesResult(request, request.what, _curves(question, names, sizes))


def _predict(question: Question, spec: str, name: str, size: int, latencies: bool = False) -> Prediction:
    request = question.request
    machine = question.topology(spec)
    return simulate_collective(
        Collective(Kind(request.what), machine.num_ranks, size, request.chunks, request.root or 0),
        machine,
        name,
        fidelity=replace(question.fidelity, latencies=True) if latencies else question.fidelity,
        nccl=nccl_of(request, spec, machine, [name]),
        disturbance=question.disturbance,
    )


def _curves(question: Question, names: list[str], sizes: list[int]) -> list[SimulatedCurve]:
    """The curves, but for native algorithms that cannot do this where others can: a note."""
    found: list[SimulatedCurve] = []
    skipped: list[str] = []
    for spec, name in product(question.request.topology, names):
        try:
            found.append(_curve(question, spec, name, sizes))
        except HocketError as error:
            if name not in ALGORITHMS:
                raise
            skipped.append(f"{spec}: {error}")
    if not found:
        raise SimulationError(skipped[0])
    for reason in skipped:
        question.progress.note(f"note: skipped: {reason}")
    return found


def _curve(question: Question, spec: str, name: str, sizes: list[int]) -> SimulatedCurve:
    def predicted(size: int, latencies: bool) -> Prediction:
        return _predict(question, spec, name, size, latencies)

    return curve_of_predictions(spec, name, sizes, predicted, floor_at_zero=not is_nccl(name))
