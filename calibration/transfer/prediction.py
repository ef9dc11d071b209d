"""Times of calls that were not measured, with what they may be off."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.features import CurveFeatures
from hocket.calibration.transfer.fitting import Fit, TransferredCurve
from hocket.calibration.transfer.form import NOISE, WAVE, linearized, names_of, wave

__all__ = ["NINETY", "PredictedTimes", "gain_of", "predict"]

_Floats = NDArray[np.float64]

NINETY = 1.645
"""Standard deviations of a normal distribution that hold 90 %, each way."""


@dataclass(frozen=True, eq=False)
class PredictedTimes:
    """Logarithms of us, and their standard deviation."""

    log_us: _Floats
    spread: _Floats

    @property
    def time_us(self) -> _Floats:
        time: _Floats = np.exp(self.log_us)
        return time

    @property
    def within(self) -> tuple[_Floats, _Floats]:
        """What holds 90 %, in us."""
        off = NINETY * self.spread
        return np.exp(self.log_us - off), np.exp(self.log_us + off)


def predict(fit: Fit, features: CurveFeatures) -> PredictedTimes:
    """Of a curve, whether or not the fit has seen others of its sizes."""
    effects = fit.effects.with_names(names_of(features))
    number = {name: at for at, name in enumerate(effects.names)}
    line = linearized(features, effects.mean, number)
    slopes, log_us = line.slopes, line.log_us
    variance = np.full(len(log_us), WAVE**2 + NOISE**2)
    seen = fit.curve_at(features.place)
    if seen is not None:
        gain = gain_of(seen, features)
        log_us = log_us + gain @ seen.left
        variance = variance - (gain * wave(features.size_bytes, seen.observed.features.size_bytes)).sum(axis=1)
        slopes = slopes - gain @ np.pad(seen.slopes, ((0, 0), (0, len(effects.names) - seen.slopes.shape[1])))
    variance = variance + ((slopes @ effects.covariance) * slopes).sum(axis=1)
    return PredictedTimes(log_us, np.sqrt(variance))


def gain_of(seen: TransferredCurve, features: CurveFeatures) -> _Floats:
    """By how much each row of a curve that was seen moves each that is asked."""
    sizes = seen.observed.features.size_bytes
    near = wave(sizes, sizes) + np.diag(seen.variance)
    return np.asarray(np.linalg.solve(near, wave(sizes, features.size_bytes)).T, np.float64)
