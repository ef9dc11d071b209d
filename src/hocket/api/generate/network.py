"""Makes traces of training steps of a layered network, from a table or a published architecture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hocket.api.generate.request import NetworkGeneration
from hocket.api.generate.target import pricing, ranks_of
from hocket.api.progress import Progress
from hocket.api.trace.written import WrittenTraces, write_job
from hocket.base.errors import FormatError, RequestError
from hocket.base.strict_yaml import nearest
from hocket.base.units import format_bytes
from hocket.workload.accelerators import Precision
from hocket.workload.architecture import to_network
from hocket.workload.astra_text import read_astra_text
from hocket.workload.network import Network
from hocket.workload.plan import HybridPlan, parse_plan
from hocket.workload.presets import PRESETS
from hocket.workload.table import read_table, write_table
from hocket.workload.training import generate_training, left_out

__all__ = ["perform"]


def perform(request: NetworkGeneration, progress: Progress) -> WrittenTraces:
    layers, plan = _load(request)
    precision, priced = Precision(request.precision), pricing(request)
    traces = generate_training(layers, plan, request.steps, priced.accelerator, precision)
    before = list(_described(layers, plan, priced.said(precision)))
    if request.table is not None:
        write_table(request.table, layers)
        before.append(f"wrote {request.table}")
    return write_job(request, traces, request.written, request.profile, progress, before)


def _load(request: NetworkGeneration) -> tuple[Network, HybridPlan]:
    """The network, and the plan: the request's, else that of an ASTRA-sim file, else data."""
    path, parallel, ranks = Path(request.what), request.parallel, ranks_of(request)
    if request.what in PRESETS and not path.exists():
        plan = parse_plan(parallel or "data", ranks)
        sizes = request.batch, request.element_bytes, request.gradient_bytes
        return to_network(PRESETS[request.what](), plan, *sizes), plan
    if request.batch is not None:
        raise RequestError("--batch is for a preset: the sizes of a table are those of a step")
    if not path.exists():
        raise FormatError(f"{request.what}: no such file, and no preset; {nearest(request.what, PRESETS)}")
    if path.suffix.lower() in (".csv", ".yaml", ".yml"):
        return read_table(path), parse_plan(parallel or "data", ranks)
    text = read_astra_text(path)
    if parallel is None and text.plan is None:
        raise RequestError(
            f"--parallel is missing: {text.policy} does not say how many neighbours make the first dimension,"
            " such as --parallel hybrid:8"
        )
    return text.network, parse_plan(parallel or text.plan or "data", ranks)


def _described(layers: Network, plan: HybridPlan, priced: str) -> Iterator[str]:
    yield from layers.notes
    yield f"{plan}, {len(layers.layers)} layers"
    if num_ops := sum(step.num_ops for step in layers.passes()):
        yield f"operations of a rank and step: {num_ops}, {priced}"
    for (kind, scope), (count, num_bytes) in layers.communication().items():
        if plan.size(scope) > 1:
            size = format_bytes(num_bytes)
            yield f"{count} x {kind} of {num_bytes} bytes ({size}) in all, among {plan.size(scope)} ranks ({scope})"
    if lonely := left_out(layers, plan):
        yield f"note: {lonely} collectives per step are left out: their groups would be of one rank"
