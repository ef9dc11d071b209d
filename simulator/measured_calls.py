"""Collectives that take what a job recorded of those like them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.base.enums import StrEnum, assert_never
from hocket.simulator.fixed_time import FixedTime
from hocket.simulator.workload import CollectiveCall

__all__ = ["FittedSteps", "MeasuredCalls"]


class FittedSteps(StrEnum):
    """Which of a job's steps correct the prediction of the others."""

    ODD = "odd"
    EVEN = "even"
    FIRST_HALF = "first-half"

    def of(self, steps: Sequence[int]) -> list[int]:
        """Those of the steps, which are in order: every second one, the first half."""
        match self:
            case FittedSteps.ODD:
                return list(steps[::2])
            case FittedSteps.EVEN:
                return list(steps[1::2])
            case FittedSteps.FIRST_HALF:
                return list(steps[: len(steps) // 2])
            case _:
                assert_never(self)


@dataclass(frozen=True)
class MeasuredCalls:
    """The factors by which recorded times of calls exceed predicted ones: `curves[kind, ranks]` are sizes in bytes,
    ascending and different, and a factor at each. Between sizes the factor is straight in the logarithm of both;
    beyond, it stays; kinds that were not recorded take what was predicted. `alone_ps` is what was predicted of each
    distinct call, by (kind, group, size)."""

    curves: Mapping[tuple[str, int], tuple[Sequence[int], Sequence[float]]]
    alone_ps: Mapping[tuple[str, tuple[int, ...], int], int]

    def factor(self, kind: str, ranks: int, size_bytes: int) -> float:
        """Recorded over predicted time of such a call."""
        if (kind, ranks) not in self.curves:
            return 1.0
        sizes, factors = self.curves[kind, ranks]
        at = np.interp(np.log(max(size_bytes, 1)), np.log(np.maximum(sizes, 1)), np.log(factors))
        return float(np.exp(at))

    def candidates(self, call: CollectiveCall) -> Iterable[FixedTime]:
        """What the simulator is to follow for a call."""
        alone = self.alone_ps[call.kind, call.group, call.size_bytes]
        time_ps = round(alone * self.factor(call.kind, len(call.group), call.size_bytes))
        return [FixedTime("as recorded", call.collective, time_ps, None)]
