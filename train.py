"""Makes the prior of a set of curves; every choice in it is made by leaving out one of their machines after the other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hocket.calibration.transfer.anchors import SMALL, anchored, scaled
from hocket.calibration.transfer.curve import Curve
from hocket.calibration.transfer.fit import Fit, Weights, fit
from hocket.calibration.transfer.predict import predict
from numpy.typing import NDArray

from hocket.calibration.transfer.prior import NINETY, Prior, Rule, facts_of

__all__ = ["Trainer"]

_SHARES = (0.0, 0.5, 1.0)

_Floats = NDArray[np.float64]


class Trainer:
    """Priors of the curves of all machines but some; what was fitted once is kept."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves = tuple(curves)
        self.machines = tuple(dict.fromkeys(curve.machine for curve in curves))
        self._weights: dict[frozenset[str], Weights] = {}

    def without(self, *machines: str) -> Prior:
        """The prior of the others."""
        kept = [name for name in self.machines if name not in machines]
        cases = [_Case.of(self, name, machines) for name in kept]
        return Prior(
            self._of_all_but(frozenset(machines)),
            self._seen(machines),
            _rule([case for each in cases for case in each.unmeasured]),
            _rule([case for each in cases for case in each.measured]),
        )

    def of(self, machine: str) -> list[Curve]:
        return [curve for curve in self.curves if curve.machine == machine]

    def _seen(self, machines: Sequence[str]) -> frozenset[str]:
        rows = [curve for curve in self.curves if curve.machine not in machines]
        return frozenset(fact for curve in rows for facts in facts_of(curve) for fact in facts.split("\n"))

    def _of_all_but(self, machines: frozenset[str]) -> Weights:
        if machines not in self._weights:
            rows = [curve for curve in self.curves if curve.machine not in machines]
            self._weights[machines] = fit(rows).weights.of_others()
        return self._weights[machines]


class _Tried:
    """A curve that was left out: logarithms of what was measured, what the form and what NCCL's model say of it."""

    def __init__(
        self, curve: Curve, hidden: NDArray[np.bool_], fitted: Fit, plain: _Floats, seen: frozenset[str]
    ) -> None:
        told = predict(fitted, curve)
        known = np.array([all(fact in seen for fact in facts.split("\n")) for facts in facts_of(curve)])
        rows = hidden & curve.known
        self.small = (curve.sizes <= SMALL)[rows]
        self.form = np.log(told.time_us / curve.time_us)[rows]
        self.plain = np.log(plain / curve.time_us)[rows]
        self.spread = told.spread[rows]
        self.known = known[rows]

    def error(self, small: float, large: float) -> _Floats:
        share = np.where(self.small, small, large)
        return np.asarray(share * self.form + (1 - share) * self.plain)


class _Case:
    """A machine that was left out, with nothing and with two rows of it known."""

    def __init__(self, unmeasured: list[_Tried], measured: list[_Tried]) -> None:
        self.unmeasured, self.measured = unmeasured, measured

    @classmethod
    def of(cls, trainer: Trainer, machine: str, others: Sequence[str]) -> "_Case":
        away = (machine, *others)
        weights, seen = trainer._of_all_but(frozenset(away)), trainer._seen(away)
        curves = trainer.of(machine)
        unmeasured = [_Tried(each, each.known, Fit(weights, ()), each.nccl_us, seen) for each in curves]
        known = [anchored(each) for each in curves]
        own = [each.at(each.known) for each in known]
        fitted = fit(own, weights)
        hidden = [~each.known for each in known]
        measured = [
            _Tried(each, rows, fitted, scaled(each, own), seen) for each, rows in zip(curves, hidden, strict=True)
        ]
        return cls(unmeasured, measured)


def _rule(tried: Sequence[_Tried]) -> Rule:
    """The shares with the least mean error, a curve as much as another; and what holds 90 % of what was left out."""
    best = Rule()
    for small in (True, False):
        rows = [(each, (each.small == small) & each.known) for each in tried]
        losses = {
            share: np.mean([np.abs(each.error(share, share)[at]).mean() for each, at in rows if at.any()] or [0.0])
            for share in _SHARES
        }
        chosen = min(reversed(_SHARES), key=lambda share: losses[share])
        best = replace(best, small=chosen) if small else replace(best, large=chosen)
    off = [(np.abs(each.error(best.small, best.large)) / each.spread)[each.known] for each in tried]
    alone = [np.abs(each.plain) for each in tried]
    return replace(best, stretch=_held(off) / NINETY, spread=_held(alone) / NINETY)


def _held(off: Sequence[_Floats]) -> float:
    """Within which 90 % are, a curve counting as much as another."""
    rows = [each for each in off if len(each)]
    value = np.concatenate(rows)
    weight = np.concatenate([np.full(len(each), 1 / len(each)) for each in rows])
    order = np.argsort(value, kind="stable")
    total = np.cumsum(weight[order]) / weight.sum()
    return float(value[order][np.searchsorted(total, 0.9)])
