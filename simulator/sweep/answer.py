"""Simulates one point of a sweep."""

from dataclasses import dataclass
from functools import lru_cache

from hocket.base.errors import FormatError, HocketError
from hocket.base.strict_yaml import nearest
from hocket.schedule import NAMED_KINDS, Collective, Kind
from hocket.simulator.api import simulate_collective
from hocket.simulator.models import parse_setting
from hocket.simulator.sweep.point import Point, content_of
from hocket.topology import Topology, load

__all__ = ["Answer", "answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out: `time_ps` and `bound_ps`, the algorithm that was used, `busbw` in bytes/s as nccl-tests counts; or
    -1, empty and `error`, why the point cannot be simulated."""

    ranks: int
    time_ps: int
    bound_ps: int
    used_algorithm: str
    busbw: float
    error: str = ""


def answer(point: Point) -> Answer:
    """The point's answer; what cannot be done (an algorithm on these ranks, say) is an answer too."""
    try:
        return _simulate(point)
    except HocketError as error:
        return Answer(-1, -1, -1, "", 0.0, str(error))


def _simulate(point: Point) -> Answer:
    topology = _topology(point.topology, content_of(point.topology))
    if point.collective not in NAMED_KINDS:
        raise FormatError(f"{point.collective} is not a collective; {nearest(point.collective, NAMED_KINDS)}")
    kind = Kind(point.collective)
    collective = Collective(kind, topology.num_ranks, point.size_bytes, point.chunks_per_rank, point.root)
    prediction = simulate_collective(
        collective,
        topology,
        point.algorithm,
        model=point.model,
        switching=parse_setting(point.switching),
        queueing=parse_setting(point.queueing),
    )
    time = prediction.time_ps
    busbw = point.size_bytes * collective.bus_factor * 1e12 / time if time else 0.0
    (call,) = prediction.collectives
    return Answer(topology.num_ranks, time, prediction.bound_ps, call.algorithm, busbw)


@lru_cache(maxsize=16)
def _topology(text: str, content: str) -> Topology:
    """The topology; `content` tells a file from what it was before."""
    return load(text)
