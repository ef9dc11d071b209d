"""Collectives that take what a job recorded of those like them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.base.enums import StrEnum, assert_never
from hocket.simulator.fixed_time import FixedTime
from hocket.simulator.workload import CollectiveCall

__all__ = ["CallLayout", "FittedSteps", "MeasuredCalls"]


class FittedSteps(StrEnum):
    """Which of a job's steps correct the prediction of the others."""

    ODD = "odd"
    EVEN = "even"
    FIRST_HALF = "first-half"

    def of(self, steps: Sequence[int]) -> list[int]:
        """Those of the steps' numbers, which are in order."""
        match self:
            case FittedSteps.ODD:
                return [step for step in steps if step % 2]
            case FittedSteps.EVEN:
                return [step for step in steps if step % 2 == 0]
            case FittedSteps.FIRST_HALF:
                return list(steps[: len(steps) // 2])
            case _:
                assert_never(self)


@dataclass(frozen=True)
class CallLayout:
    """What calls have in common that take other links than others: their kind, and how far their members are from the
    first, in ranks of the topology (a group in a node has another layout than one across nodes)."""

    kind: str
    layout: tuple[int, ...]

    @classmethod
    def of(cls, call: CollectiveCall) -> "CallLayout":
        """That of a call on ranks of the topology."""
        return cls(call.kind, tuple(rank - call.group[0] for rank in call.group))


@dataclass(frozen=True)
class MeasuredCalls:
    """The factors by which recorded times of calls exceed predicted ones: `curves[place]` are sizes in bytes,
    ascending and different, and a factor at each. Between sizes the factor is straight in the logarithm of both;
    beyond, it stays; places that were not recorded take what was predicted. `predicted_ps` is what was predicted of
    each distinct call. Calls name ranks of the topology."""

    curves: Mapping[CallLayout, tuple[Sequence[int], Sequence[float]]]
    predicted_ps: Mapping[CollectiveCall, int]

    def factor(self, call: CollectiveCall) -> float:
        """Recorded over predicted time of such a call."""
        place = CallLayout.of(call)
        if place not in self.curves:
            return 1.0
        sizes, factors = self.curves[place]
        at = np.interp(np.log(max(call.size_bytes, 1)), np.log(np.maximum(sizes, 1)), np.log(factors))
        return float(np.exp(at))

    def candidates(self, call: CollectiveCall) -> Iterable[FixedTime]:
        """What the simulator is to follow for a call."""
        time_ps = round(self.predicted_ps[call] * self.factor(call))
        return [FixedTime("as recorded", call.collective, time_ps, None)]
