"""Rates of schedules and programs: searched, timed, verified, lowered, proved, and run."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from hocket._core import executor
from hocket.bench.speed.case import SpeedCase, Work
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER
from hocket.schedule import Collective, Kind, Schedule, execute, retime, verify
from hocket.schedule.algorithms import build
from hocket.synthesizer import Problem, Search
from hocket.synthesizer.portfolio import best_schedule
from hocket.topology import load
from hocket.translator import lower

__all__ = ["CASES"]

_LINKS = "bandwidth=50GiB/s,latency=500ns"
_SIZE = 2**26


def _schedule(full: bool) -> Schedule:
    topology = load(f"torus:{'16x16' if full else '8x8'},{_LINKS}")
    return retime(build("torus_ring", Collective(Kind.ALL_REDUCE, topology.num_ranks, _SIZE), topology))


def _retime(full: bool) -> Work:
    schedule = _schedule(full)
    return Work(partial(retime, schedule), schedule.num_transfers)


def _verify(full: bool) -> Work:
    schedule = _schedule(full)
    return Work(partial(verify, schedule), schedule.num_transfers)


def _synthesize(full: bool) -> Work:
    """A mesh, searched round by round."""
    topology = load(f"mesh:{'12x12' if full else '6x6'},{_LINKS}")
    collective = Collective(Kind.ALL_GATHER, topology.num_ranks, _SIZE // topology.num_ranks * topology.num_ranks)

    def run() -> int:
        problem = Problem(collective, topology, blocking=True)
        return best_schedule(problem, Search(threads=1), "rounds").num_transfers

    return Work(run, run())


def _lower(full: bool) -> Work:
    schedule = _schedule_of_gpus(full)
    return Work(partial(lower, schedule, "msccl"), schedule.num_transfers)


def _prove(full: bool) -> Work:
    schedule = _schedule_of_gpus(full)
    return Work(partial(execute, lower(schedule, "msccl")), schedule.num_transfers)


def _schedule_of_gpus(full: bool) -> Schedule:
    topology = load(f"dgx-h100:nodes={4 if full else 2}")
    return build("ring", Collective(Kind.ALL_REDUCE, topology.num_ranks, _SIZE), topology)


def _reduce(full: bool) -> Work:
    """Sums of buffers that no cache holds: two are read and one is written."""
    left, right, out = (np.full(2**25 if full else 2**18, value, np.float32) for value in (1, 2, 0))
    return Work(partial(_add, left, right, out), out.size, 3 * out.nbytes)


def _add(left: NDArray[np.float32], right: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    first, second, into = (each.ctypes.data for each in (left, right, out))
    executor.reduce(ELEMENT_NUMBER["float32"], REDUCTION_NUMBER["sum"], first, second, into, out.size)


CASES = (
    SpeedCase("retime", "transfers", "earliest times of a schedule's order", _retime),
    SpeedCase("verify", "transfers", "an all_reduce of a torus proved", _verify),
    SpeedCase("synthesize", "transfers", "an all_gather of a mesh searched", _synthesize),
    SpeedCase("lower", "transfers", "a ring lowered to MSCCL XML", _lower),
    SpeedCase("prove", "transfers", "that program executed symbolically", _prove),
    SpeedCase("reduce", "elements", "float32 sums of the CPU executor", _reduce),
)
