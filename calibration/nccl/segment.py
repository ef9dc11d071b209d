"""The terms of `hocket.nccl.fitted`, fitted: none is negative (the ramp is that of `pieces`), and which are there is
told by the least BIC of all their combinations.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.fitted import TERMS

__all__ = ["fit_segment"]

_Floats = NDArray[np.float64]
_REWEIGHTINGS = 8
_ALIKE = 1e-6
_LEAST = 1e-9  # of a time: what is less is of weights that are refused
_CHANNEL, _OF_CHANNEL = 2, 4  # from here on terms may be multiples of the channel's


def fit_segment(columns: _Floats, time_us: _Floats, scale: float, penalty: float) -> _Floats:
    """The weights of least robust loss (Cauchy's of relative errors, in units of `scale`) + `penalty` a term."""
    used = [at for at in np.flatnonzero(columns.any(axis=0)).tolist() if at < _OF_CHANNEL or _varies(columns, at)]
    relative = columns / time_us[:, None]
    best, weights = np.inf, np.zeros(len(TERMS))
    for count in range(1, min(len(np.unique(columns, axis=0)), len(used)) + 1):
        chosen = np.array(list(combinations(used, count)))
        values, losses = _nonnegative(relative[:, chosen].transpose(1, 0, 2), scale)
        at = int(np.argmax(losses <= losses.min() + _ALIKE))  # of several alike the first, however they round
        if losses[at] + penalty * count < best - _ALIKE:
            best, weights = losses[at] + penalty * count, np.zeros(len(TERMS))
            weights[chosen[at]] = values[at]
    return weights


def _varies(columns: _Floats, at: int) -> bool:
    """Whether a term is anything but a multiple of a channel's bytes."""
    ratio = columns[:, at] / columns[:, _CHANNEL]
    return bool(np.ptp(ratio) > 1e-9 * ratio[0])


def _nonnegative(relative: _Floats, scale: float) -> tuple[_Floats, _Floats]:
    """Iteratively reweighted least squares of `relative` x weights = 1, for several choices of terms (choices x rows x
    terms): weights, and the losses; infinite where a weight would not be positive."""
    size = relative.max(axis=1)
    unit = relative / size[:, None, :]
    trust = np.ones(unit.shape[:2])
    possible = np.ones(len(unit), np.bool_)
    for _ in range(_REWEIGHTINGS):
        weighted = unit * trust[:, :, None]
        normal = unit.transpose(0, 2, 1) @ weighted + 1e-12 * np.eye(unit.shape[2])
        value = np.linalg.solve(normal, weighted.sum(axis=1)[:, :, None])
        possible &= (value[:, :, 0] > 0).all(axis=1)
        off = (np.log(np.maximum((unit @ value)[:, :, 0], _LEAST)) / scale) ** 2
        trust = 1 / (1 + off)
    return value[:, :, 0] / size, np.where(possible, np.log1p(off).sum(axis=1), np.inf)
