"""ASTRA-sim's own result from its own files: `--compat astra-sim`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hocket.api.reading import one_of
from hocket.api.result import Result
from hocket.api.simulate.request import AstraFiles, Simulation
from hocket.base.errors import ExitCode, RequestError
from hocket.base.late_imports import late_imports
from hocket.base.text import printable_lines
from hocket.base.units import format_time

with late_imports(__name__):
    from hocket.base.files import write_json
    from hocket.chakra import NodeType, read_traces
    from hocket.chakra.losses import Loss, all_communication_lost, loss_lines, losses_of_job
    from hocket.simulator.astra import AstraBackend, AstraPrediction, read_setup, simulate_astra

__all__ = ["AstraResult", "perform", "refuse_mixed"]

_ONLY = set(AstraFiles.__struct_fields__) - {"compat"}
_FOR_BOTH = {"what", "model", "groups", "json", "compat", "accept_losses"}


class AstraResult(Result):
    """Finish and exposed cycles of every rank, as ASTRA-sim says them."""

    def __init__(
        self, request: Simulation, prediction: AstraPrediction, losses: Mapping[Loss, int], placed: int
    ) -> None:
        self.request: Simulation = request
        self.prediction = prediction
        self.warnings = tuple(f"  warning: {line}" for line in loss_lines(losses))
        lost_all = all_communication_lost(losses, placed) and not request.job.accept_losses
        self.exit_code = ExitCode.CHECK_FAILED if lost_all else ExitCode.DONE

    def headline(self) -> str:
        found = self.prediction
        time = format_time(found.time_ns * 1000)
        return f"{time} on {len(found.finish_ns)} ranks as ASTRA-sim says it, model {found.backend}"

    def summary(self) -> str:
        found = self.prediction
        last = int(found.finish_ns.argmax())
        ranks, finish = len(found.finish_ns), found.finish_ns
        lines = [
            f"ASTRA-sim compatible, model {found.backend}: {ranks} ranks, {found.messages} messages",
            f"  finish                 {finish.min()} to {finish[last]} ns, rank {last} is last",
            f"  exposed communication  {found.exposed_ns[last]} ns on rank {last}",
            *(f"  note: {note}" for note in found.notes),
        ]
        if self.request.outputs.json:
            lines.append(f"wrote {self.request.outputs.json}")
        return printable_lines(lines)

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/astra-sim.md), with the request that was answered."""
        return {**self.prediction.as_json(), "headline": self.headline(), "request": self.request.to_plain()}


def refuse_mixed(request: Simulation) -> None:
    """A RequestError for a `compat` that is none, and for fields given that would do nothing with it, or without."""
    named = request.set_fields().keys()
    is_compat = request.astra.compat is not None
    if is_compat:
        one_of("--compat", request.astra.compat or "", ["astra-sim"])
    idle = named - _FOR_BOTH - (_ONLY if is_compat else named - _ONLY)
    if not idle:
        return
    names = ", ".join(sorted("/".join(field.flags) for field in request.fields() if field.name in idle))
    if is_compat:
        raise RequestError(f"--compat takes ASTRA-sim's files: drop {names}")
    raise RequestError(f"ASTRA-sim's options are for --compat astra-sim: add it, or drop {names}")


def perform(request: Simulation) -> AstraResult:
    """Reads the files, simulates as ASTRA-sim would, writes the JSON that is asked for."""
    files = request.astra
    if files.network is None or files.system is None:
        raise RequestError("--compat astra-sim needs its files: --network network.yml --system system.json")
    model = request.fidelity.model or "analytical"
    one_of("--compat astra-sim --model", model, AstraBackend)
    setup = read_setup(
        files.network,
        files.system,
        files.memory,
        backend=model,
        queues_per_dimension=files.num_queues_per_dim,
        injection_scale=files.injection_scale,
        rendezvous=files.rendezvous_protocol,
    )
    traces = read_traces(request.what, request.job.groups)
    prediction = simulate_astra(traces, setup)
    placed = sum(int((trace.type >= NodeType.COMM_SEND).sum()) for trace in traces.traces)
    result = AstraResult(request, prediction, losses_of_job(traces), placed)
    if request.outputs.json:
        write_json(request.outputs.json, result.as_json())
    return result
