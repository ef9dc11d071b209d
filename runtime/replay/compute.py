"""How a replay spends the time of a recorded computation."""

import time
from collections.abc import Callable

import numpy as np

from hocket.base.enums import StrEnum, assert_never

__all__ = ["Compute", "spender"]

_LATE_NS = 200_000  # what a sleep may be late by is spun instead
_EDGE = 64
_CALIBRATION_NS = 20_000_000


class Compute(StrEnum):
    """What stands for a computation."""

    SLEEP = "sleep"
    SPIN = "spin"
    GEMM = "gemm"
    NONE = "none"


def spender(compute: Compute) -> Callable[[int], None]:
    """A function that spends so many nanoseconds. That of `gemm` is calibrated here, on this process alone: it does the
    multiplications that fit into the time now, and takes longer when they do."""
    match compute:
        case Compute.SLEEP:
            return _sleep
        case Compute.SPIN:
            return _spin
        case Compute.GEMM:
            return _multiplications()
        case Compute.NONE:
            return lambda _: None
        case _:
            assert_never(compute)


def _spin(duration_ns: int) -> None:
    end = time.perf_counter_ns() + duration_ns
    while time.perf_counter_ns() < end:
        pass


def _sleep(duration_ns: int) -> None:
    end = time.perf_counter_ns() + duration_ns
    if duration_ns > _LATE_NS:
        time.sleep((duration_ns - _LATE_NS) / 1e9)
    while time.perf_counter_ns() < end:
        time.sleep(0)


def _multiplications() -> Callable[[int], None]:
    left, right = np.ones((_EDGE, _EDGE), np.float32), np.ones((_EDGE, _EDGE), np.float32)
    unit_ns = float("inf")
    end = time.perf_counter_ns() + _CALIBRATION_NS
    while (begin := time.perf_counter_ns()) < end:
        left @ right
        unit_ns = min(unit_ns, time.perf_counter_ns() - begin)

    def multiply(duration_ns: int) -> None:
        for _ in range(round(duration_ns / unit_ns)):
            left @ right

    return multiply
