"""Answers one row of a sweep."""

from dataclasses import dataclass

from hocket.api.progress import SILENT
from hocket.api.simulate.perform import perform
from hocket.api.simulate.request import Simulation
from hocket.api.simulate.result import SimulationResult
from hocket.base.errors import HocketError, RequestError
from hocket.base.units import parse_bytes
from hocket.simulator.analysis import bandwidths

__all__ = ["Answer", "answer", "failed_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out: `time_ps` and `bound_ps`; of a single collective the algorithm that was used and `busbw` in
    bytes/s as nccl-tests counts; `assumed` and `notes`, sentences joined by "; "; or -1, empty and `error`, why the row
    cannot be simulated."""

    ranks: int
    time_ps: int
    bound_ps: int
    used_algorithm: str
    busbw: float
    error: str = ""
    assumed: str = ""
    notes: str = ""


def answer(row: Simulation) -> Answer:
    """The row's answer; what cannot be done (an algorithm on these ranks, say) is an answer too."""
    try:
        return _simulate(row)
    except HocketError as error:
        return Answer(-1, -1, -1, "", 0.0, str(error))


def failed_answer(reason: str) -> Answer:
    """What a row has whose simulation did not end."""
    return Answer(-1, -1, -1, "", 0.0, f"failed: {reason}")


def _simulate(row: Simulation) -> Answer:
    result = perform(row, SILENT)
    if not isinstance(result, SimulationResult):
        raise RequestError("a row of a sweep is one prediction: one size, one algorithm")
    found = result.prediction
    ranks, time, bound = found.topology.num_ranks, found.time_ps, found.bound_ps
    said = {"assumed": "; ".join(found.assumed), "notes": "; ".join([*found.warnings, *found.notes])}
    if found.collectives and (row.size is None or len(found.collectives) != 1):
        return Answer(ranks, time, bound, "", 0.0, **said)
    if not found.collectives:  # messages: what each of their bytes takes
        size = parse_bytes(row.size) if row.size else 0
        return Answer(ranks, time, bound, "messages" if size else "", size * 1e12 / max(time, 1), **said)
    _, busbw = bandwidths(found)
    return Answer(ranks, time, bound, found.collectives[0].algorithm, float(busbw[0]), **said)
