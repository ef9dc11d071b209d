"""Which few rows would tell the most of a machine, before anybody runs them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.features import CurveFeatures, CurvePlace
from hocket.calibration.transfer.fitting import Fit
from hocket.calibration.transfer.form import NOISE, linearized, names_of, wave
from hocket.calibration.transfer.prediction import gain_of

__all__ = ["RunToMake", "plan_runs"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunToMake:
    """A size of a curve to measure, and the mean spread (logarithms) of all that is asked once it is known, too."""

    place: CurvePlace
    size_bytes: int
    spread_after: float


def plan_runs(fit: Fit, asked: Sequence[CurveFeatures], runs: int) -> tuple[float, list[RunToMake]]:
    """The mean spread of what is `asked` as it is, and the rows of it that narrow it most, one after the other."""
    rows = [(each.place, size) for each in asked for size in each.size_bytes.tolist()]
    covariance = _covariance(fit, asked)
    before = float(np.sqrt(np.diag(covariance)).mean())
    found: list[RunToMake] = []
    for _ in range(min(runs, len(rows))):
        gains = covariance / np.sqrt(np.diag(covariance) + NOISE**2)[None]
        left = np.sqrt(np.maximum(np.diag(covariance)[:, None] - gains**2, 0)).mean(axis=0)
        best = int(left.argmin())
        covariance = covariance - np.outer(gains[:, best], gains[:, best])
        found.append(RunToMake(*rows[best], float(left[best])))
    return before, found


def _covariance(fit: Fit, asked: Sequence[CurveFeatures]) -> _Floats:
    """Of the logarithms of all rows, without the noise of measuring them."""
    effects = fit.effects.with_names(name for each in asked for name in names_of(each))
    number = {name: at for at, name in enumerate(effects.names)}
    slopes, waves = [], []
    for each in asked:
        slope, own = linearized(each, effects.mean, number).slopes, wave(each.size_bytes, each.size_bytes)
        seen = fit.curve_at(each.place)
        if seen is not None:
            gain = gain_of(seen, each)
            own = own - gain @ wave(seen.observed.features.size_bytes, each.size_bytes)
            slope = slope - gain @ np.pad(seen.slopes, ((0, 0), (0, len(number) - seen.slopes.shape[1])))
        slopes.append(slope)
        waves.append(own)
    every = np.concatenate(slopes)
    covariance: _Floats = every @ effects.covariance @ every.T
    at = 0
    for own in waves:
        covariance[at : at + len(own), at : at + len(own)] += own
        at += len(own)
    return covariance
