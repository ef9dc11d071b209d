"""Effects fitted to curves: Gauss-Newton in log time, rows weighed as a Student-t weighs them. Deterministic."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.effects import Effects
from hocket.calibration.transfer.features import CurvePlace, Observed
from hocket.calibration.transfer.form import NOISE, linearized, names_of, wave

__all__ = ["Fit", "TransferredCurve", "fit_curves"]

_Floats = NDArray[np.float64]

_STEPS = 5
_FREEDOM = 3.0  # degrees of, of the rows' Student-t
_LEAST_WEIGHT = 0.01
_DISTURBED = 0.1  # a row that weighs less is no part of the curve


@dataclass(frozen=True, eq=False)
class TransferredCurve:
    """A curve beside its fit: what is left of its rows (logarithms), their slopes by the effects, their variance;
    `weight` is 1 of a row as expected, near 0 of one that is not fitted."""

    observed: Observed
    left: _Floats
    slopes: _Floats
    weight: _Floats

    @property
    def place(self) -> CurvePlace:
        return self.observed.features.place

    @property
    def variance(self) -> _Floats:
        return NOISE**2 / self.weight

    @property
    def disturbed(self) -> NDArray[np.bool_]:
        """Rows that do not fit to the others: named, not fitted."""
        found: NDArray[np.bool_] = self.weight < _DISTURBED
        return found


@dataclass(frozen=True, eq=False)
class Fit:
    """The effects as the curves tell them, and the curves."""

    effects: Effects
    curves: tuple[TransferredCurve, ...]

    def curve_at(self, place: CurvePlace) -> TransferredCurve | None:
        """None where it was not measured."""
        return next((curve for curve in self.curves if curve.place == place), None)


def fit_curves(curves: Sequence[Observed], start: Effects) -> Fit:
    """From effects that are known before (`Effects.none()`: none)."""
    prior = start.with_names(name for curve in curves for name in names_of(curve.features))
    number = {name: at for at, name in enumerate(prior.names)}
    precision = np.linalg.inv(prior.covariance) if len(prior.names) else prior.covariance
    mean = prior.mean.copy()
    weights = [np.ones(len(curve.time_us)) for curve in curves]
    covariance = prior.covariance
    fitted: tuple[TransferredCurve, ...] = ()
    for _ in range(_STEPS):
        lines = [linearized(curve.features, mean, number) for curve in curves]
        aims = [
            np.log(curve.time_us) - line.log_us + line.slopes @ mean for curve, line in zip(curves, lines, strict=True)
        ]
        matrix, vector = precision.copy(), precision @ prior.mean
        for curve, line, aim, weight in zip(curves, lines, aims, weights, strict=True):
            sizes = curve.features.size_bytes
            own = np.flatnonzero(line.slopes.any(axis=0))  # of some hundred effects a curve has a few
            slopes = line.slopes[:, own]
            solved = np.linalg.solve(wave(sizes, sizes) + np.diag(NOISE**2 / weight), np.column_stack([slopes, aim]))
            matrix[np.ix_(own, own)] += slopes.T @ solved[:, :-1]
            vector[own] += slopes.T @ solved[:, -1]
        covariance = np.linalg.inv(matrix)
        mean = covariance @ vector
        left = [aim - line.slopes @ mean for line, aim in zip(lines, aims, strict=True)]
        fitted = tuple(map(TransferredCurve, curves, left, [line.slopes for line in lines], weights))
        weights = [_weights(each) for each in fitted]
    return Fit(Effects(prior.names, mean, covariance), fitted)


def _weights(curve: TransferredCurve) -> _Floats:
    """Of the rows, by how far they are off the curve's form and wave."""
    sizes = curve.observed.features.size_bytes
    near = wave(sizes, sizes)
    off = curve.left - near @ np.linalg.solve(near + np.diag(curve.variance), curve.left)
    weight: _Floats = np.maximum((_FREEDOM + 1) / (_FREEDOM + (off / NOISE) ** 2), _LEAST_WEIGHT)
    return weight
