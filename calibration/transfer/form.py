"""The time of a call, and how it answers to the effects on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.effects import TERMS, labels
from hocket.calibration.transfer.features import CurveFeatures

__all__ = ["LENGTH", "NOISE", "WAVE", "LinearizedForm", "linearized", "names_of", "wave"]

_Floats = NDArray[np.float64]

_FILLING = 0.37  # of sqrt(latency transfer): what filling a pipeline takes, before anything is known (transfer.md)
NOISE = 0.03
"""Standard deviation of a row (logarithms), of a Student-t of three degrees of freedom."""
WAVE, LENGTH = 0.08, 2.0
"""What a curve is off the form, alike at near sizes: its standard deviation, and how many doublings it reaches."""


@dataclass(frozen=True, eq=False)
class LinearizedForm:
    """Around some effects: `log_us` there, and its slope by each effect (rows x effects)."""

    log_us: _Floats
    slopes: _Floats


def names_of(features: CurveFeatures) -> list[str]:
    """The effects on a curve."""
    return [name for ran in dict.fromkeys(features.ran) for _, name in labels(features.place, *ran)]


def linearized(features: CurveFeatures, mean: _Floats, number: Mapping[str, int]) -> LinearizedForm:
    """At the `mean` of effects, by their `number`."""
    rows, shifts = len(features.size_bytes), np.zeros((len(features.size_bytes), len(TERMS)))
    touched: list[tuple[NDArray[np.bool_], int, int]] = []
    for ran in dict.fromkeys(features.ran):
        here = np.array([each == ran for each in features.ran])
        for term, name in labels(features.place, *ran):
            shifts[here, term] += mean[number[name]]
            touched.append((here, term, number[name]))
    latency, transfer = np.log(features.latency_us), np.log(features.transfer_us)
    logs = np.stack([latency, np.log(_FILLING) + (latency + transfer) / 2, transfer], axis=1) + shifts
    most = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - most)
    total = parts.sum(axis=1, keepdims=True)
    shares, slopes = parts / total, np.zeros((rows, len(mean)))
    for here, term, effect in touched:
        slopes[here, effect] += shares[here, term]
    return LinearizedForm((np.log(total) + most)[:, 0], slopes)


def wave(first: NDArray[np.int64], second: NDArray[np.int64]) -> _Floats:
    """Covariance of what a curve is off the form at two sets of sizes."""
    apart = np.log2(first)[:, None] - np.log2(second)[None]
    covariance: _Floats = WAVE**2 * np.exp(-(apart**2) / (2 * LENGTH**2))
    return covariance
