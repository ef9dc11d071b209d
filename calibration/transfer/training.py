"""A prior of all tables, and how far it may be trusted: told by leaving out each of its own machines in turn."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.effects import Effects
from hocket.calibration.transfer.features import Observed
from hocket.calibration.transfer.fitting import Fit, fit_curves
from hocket.calibration.transfer.prediction import NINETY, PredictedTimes, predict
from hocket.calibration.transfer.prior import KIN, LARGE, MEASURED, PARTS, Prior, Trust, situation
from hocket.calibration.transfer.scaling import scaled_us

__all__ = ["ANCHORS", "anchored", "train"]

_Floats = NDArray[np.float64]

ANCHORS = (8 << 10, 1 << 30)
"""The two rows by which it is told how far a few measurements carry."""
_WEIGHTS = (1.0, 0.75, 0.5, 0.25, 0.0)
_HOLDS = 0.9


@dataclass(frozen=True, eq=False)
class _Held:
    """A curve that was predicted without it."""

    situation: str
    curve: Observed
    predicted: PredictedTimes
    reference_us: _Floats

    @property
    def large(self) -> NDArray[np.bool_]:
        return self.curve.features.size_bytes > LARGE

    def off(self, weight: float) -> _Floats:
        """Of the prediction with the reference mixed in (logarithms)."""
        mixed = weight * self.predicted.log_us + (1 - weight) * np.log(self.reference_us)
        off: _Floats = mixed - np.log(self.curve.time_us)
        return off


def train(curves: Sequence[Observed]) -> Prior:
    """Of curves of several machines."""
    held = [*_held_out(curves)]
    trust = {}
    for found in (KIN, PARTS, MEASURED):
        of = [each for each in held if each.situation == found]
        trust[found] = _trust(of, large=False), _trust(of, large=True)
    spread = _of_nccl(curves, large=False), _of_nccl(curves, large=True)
    known = frozenset(curve.features.place.known_by for curve in curves)
    effects = fit_curves(curves, Effects.none()).effects.of_all_machines()
    return Prior(effects, known, trust, spread)


def anchored(curves: Iterable[Observed], sizes: Sequence[int] = ANCHORS) -> list[tuple[Observed, Observed]]:
    """Of the curves that have all of these sizes: these, and the rest."""
    pairs = []
    for curve in curves:
        chosen = np.isin(curve.features.size_bytes, sizes)
        if chosen.sum() == len(sizes) < len(chosen):
            pairs.append((curve.at(chosen), curve.at(~chosen)))
    return pairs


def _held_out(curves: Sequence[Observed]) -> Iterator[_Held]:
    machines = dict.fromkeys(curve.features.place.machine for curve in curves)
    for machine in machines if len(machines) > 1 else ():
        others = [curve for curve in curves if curve.features.place.machine != machine]
        own = [curve for curve in curves if curve.features.place.machine == machine]
        shared = fit_curves(others, Effects.none()).effects.of_all_machines()
        known = frozenset(curve.features.place.known_by for curve in others)
        for curve in own:
            predicted = predict(Fit(shared, ()), curve.features)
            yield _Held(situation(curve.features.place, known), curve, predicted, curve.features.expected_us)
        if pairs := anchored(own):
            adapted = fit_curves([known_rows for known_rows, _ in pairs], shared)
            for seen, rest in pairs:
                yield _Held(MEASURED, rest, predict(adapted, rest.features), scaled_us(seen, rest.features))


def _trust(held: Sequence[_Held], *, large: bool) -> Trust:
    """The weight of the least mean error, every machine as much as any other; the stretch with which 90 % hold."""
    rows = [(each, each.large == large) for each in held if (each.large == large).any()]
    if not rows:
        return Trust(1.0, 1.0)

    def error(weight: float) -> float:
        by_machine: dict[str, list[float]] = {}
        for each, chosen in rows:
            off = np.abs(each.off(weight)[chosen]).mean()
            by_machine.setdefault(each.curve.features.place.machine, []).append(float(off))
        return float(np.mean([np.mean(several) for several in by_machine.values()]))

    weight = min(_WEIGHTS, key=error)
    off = ((np.abs(each.off(weight)) / each.predicted.spread)[chosen] for each, chosen in rows)
    return Trust(weight, _quantile(off, _HOLDS) / NINETY)


def _of_nccl(curves: Sequence[Observed], *, large: bool) -> float:
    """Spread of measured over NCCL's own times (logarithms)."""
    off = [np.abs(np.log(curve.time_us / curve.features.expected_us)) for curve in curves]
    chosen = [(curve.features.size_bytes > LARGE) == large for curve in curves]
    return _quantile((each[rows] for each, rows in zip(off, chosen, strict=True)), _HOLDS) / NINETY


def _quantile(parts: Iterable[_Floats], share: float) -> float:
    """Over curves that count alike, however many rows they have."""
    found = [part for part in parts if len(part)]
    values = np.concatenate(found)
    weight = np.concatenate([np.full(len(part), 1 / len(part)) for part in found])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][np.searchsorted(reached, share)])
