"""The least of Cauchy's loss, sum of log(1 + (r / s)^2): what a model is off by far weighs little."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["cauchy_loss", "cauchy_weight", "descend"]

_Floats = NDArray[np.float64]

_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-2, 1e-7, 1e8


def cauchy_loss(residual: _Floats, scale: float) -> float:
    """Of residuals r beside their scale s."""
    return float(np.log1p((residual / scale) ** 2).sum())


def cauchy_weight(residual: _Floats, scale: float) -> _Floats:
    """Of each residual in the normal equations."""
    return 1 / (1 + (residual / scale) ** 2)


def descend(
    theta: _Floats,
    residual: Callable[[_Floats], _Floats],
    slopes: Callable[[_Floats, _Floats], _Floats],
    scale: float,
    *,
    steps: int,
    least_gain: float,
    within: Callable[[_Floats], _Floats] = lambda theta: theta,
) -> _Floats:
    """Levenberg-Marquardt from `theta` (logarithms: no step is longer than 1), until a step gains less than
    `least_gain` of the loss, or after so many `steps`, those included that were not taken. `slopes`: derivatives (rows
    x parameters), of parameters and the residuals there; `within` keeps parameters in their bounds."""
    damping, found = _FIRST_DAMPING, residual(theta)
    slope, loss = slopes(theta, found), cauchy_loss(found, scale)
    for _ in range(steps):
        weight = cauchy_weight(found, scale)
        normal = slope.T @ (slope * weight[:, None])
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-3), slope.T @ (found * weight))
        tried = within(theta - np.clip(step, -1.0, 1.0))
        there = residual(tried)
        tried_loss = cauchy_loss(there, scale)
        if tried_loss < loss:
            is_small = loss - tried_loss < least_gain * loss
            theta, found, loss, damping = tried, there, tried_loss, max(damping / 4, _LEAST_DAMPING)
            if is_small:
                break
            slope = slopes(theta, found)
        elif damping > _MOST_DAMPING:
            break
        else:
            damping *= 6
    return theta
