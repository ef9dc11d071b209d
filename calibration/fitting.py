"""The fit of `Pieces` to a curve: robust least squares of relative errors, and what it leaves unsure.

Minimized is the sum of log(1 + (r / s)^2) over the logarithms r of predicted / measured (Cauchy's loss: a row far off
the rest weighs little), by Levenberg-Marquardt from a fixed set of starts; s is 2.4 times the noise that neighbouring
sizes show. The number of protocols is the one of least BIC. Intervals are 95 % (2 standard errors) of the linearized
fit. All of it is deterministic.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.descent import cauchy_loss, cauchy_weight, descend
from hocket.calibration.pieces import Pieces

__all__ = ["LEAST_SIZES", "TUNING", "CurveFit", "fit_curve", "leave_one_out", "noise_of"]

LEAST_SIZES = 4
TUNING = 2.4  # Cauchy's: 95 % as efficient as least squares where there are no outliers
_LEAST_NOISE = 0.03  # what the model itself misses on real machines
_MOST_NOISE = 0.3
_STEPS = 80
_MOST_PIPELINING = 2.0

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurveFit:
    """A curve and what fits it. `latency_spread` and `bandwidth_spread` are the factors of the 95 % intervals of each
    protocol, value / spread to value x spread (inf: the measurements do not tell); `weight` (0 to 1) of each row tells
    outliers."""

    curve: MeasuredCurve
    pieces: Pieces
    latency_spread: _Floats
    bandwidth_spread: _Floats
    noise: float
    weight: _Floats

    @property
    def error(self) -> _Floats:
        """predicted / measured - 1 of each row."""
        return self.pieces.time_us(self.curve.size_bytes) / self.curve.time_us - 1

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Rows that the fit does not follow: more than 5 scales off."""
        return np.flatnonzero(self.weight < 1 / (1 + 5**2))


def fit_curve(curve: MeasuredCurve) -> CurveFit:
    """Raises FormatError for a curve of fewer than four sizes."""
    if len(curve.sizes) < LEAST_SIZES:
        raise FormatError(
            f"{curve.place[0]}: {curve.name}: {len(curve.sizes)} sizes, at least {LEAST_SIZES} are needed: measure from"
            " 8 B to 1 GiB (nccl-tests: -b 8 -e 1G -f 2)"
        )
    size, time = curve.size_bytes.astype(np.float64), np.log(curve.time_us)
    noise = noise_of(curve)
    problem = _Problem(size, time, TUNING * noise)
    most = min(3, (len(curve.sizes) - 1) // 2)
    fits = [problem.best(count) for count in range(1, most + 1)]
    penalty = [TUNING**2 * problem.loss(theta) + len(theta) * np.log(len(size)) for theta in fits]
    theta = problem.used(fits[int(np.argmin(penalty))])
    count = len(theta) // 2
    order = np.argsort(theta[:count], kind="stable")
    spread = problem.spread(theta)
    pieces = Pieces(np.exp(theta[:count])[order], np.exp(theta[count:-1])[order], float(np.exp(theta[-1])))
    weight = problem.weight(theta)
    return CurveFit(curve, pieces, spread[:count][order], spread[count:-1][order], noise, weight)


def leave_one_out(fit: CurveFit) -> float:
    """The loss of every size's rows, predicted by the fit that starts from this one without them."""
    curve, pieces = fit.curve, fit.pieces
    inverse, pipelining = pieces.us_per_byte, max(pieces.pipelining, 1e-4)
    start = np.log(np.concatenate([pieces.latency_us, inverse, [pipelining]]))
    size, log_time = curve.size_bytes.astype(np.float64), np.log(curve.time_us)
    loss = 0.0
    for left_out in curve.sizes:
        rest = curve.size_bytes != left_out
        theta = _Problem(size[rest], log_time[rest], TUNING * fit.noise).descend(start)
        loss += _Problem(size[~rest], log_time[~rest], TUNING * fit.noise).loss(theta)
    return loss


def noise_of(curve: MeasuredCurve) -> float:
    """Robust standard deviation of the logarithms of times around the line between the neighbouring sizes, and of
    several measurements of a size around their median."""
    log_time = np.log(curve.time_us)
    sizes = curve.sizes
    middle = np.array([np.median(log_time[curve.size_bytes == size]) for size in sizes])
    x = np.log(sizes)
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = middle[1:-1] - (middle[:-2] * (1 - share) + middle[2:] * share)
    bend = np.median(np.abs(off)) / 1.22  # of a difference of one and half of two others
    apart = log_time - middle[np.searchsorted(sizes, curve.size_bytes)]
    repeated = apart[apart != 0]
    spread = np.median(np.abs(repeated)) if len(repeated) >= len(sizes) else bend
    return float(np.clip(1.4826 * min(bend, max(spread, bend / 4)), _LEAST_NOISE, _MOST_NOISE))


def _bounded(theta: _Floats) -> _Floats:
    return np.append(theta[:-1], np.clip(theta[-1], -9.0, np.log(_MOST_PIPELINING)))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Parameters: the logarithms of latencies, of inverse bandwidths, and of the pipelining."""

    size: _Floats
    log_time: _Floats
    scale: float

    def residual(self, theta: _Floats) -> tuple[_Floats, _Floats]:
        """Logarithms of predicted / measured, and their derivatives (rows x parameters)."""
        count = len(theta) // 2
        latency, moved = np.exp(theta[:count, None]), np.exp(theta[count:-1, None]) * self.size
        overlap = np.exp(theta[-1]) * np.sqrt(latency * moved)
        total = latency + moved + overlap
        row = np.arange(len(self.size))
        used = total.argmin(axis=0)
        time = total[used, row]
        slope = np.zeros((len(row), len(theta)))
        slope[row, used] = (latency[used, 0] + overlap[used, row] / 2) / time
        slope[row, count + used] = (moved[used, row] + overlap[used, row] / 2) / time
        slope[:, -1] = overlap[used, row] / time
        return np.log(time) - self.log_time, slope

    def loss(self, theta: _Floats) -> float:
        return cauchy_loss(self.residual(theta)[0], self.scale)

    def weight(self, theta: _Floats) -> _Floats:
        return cauchy_weight(self.residual(theta)[0], self.scale)

    def best(self, count: int) -> _Floats:
        """The parameters of least loss that the starts lead to."""
        found = [self.descend(start) for start in self._starts(count)]
        return min(found, key=self.loss)

    def _starts(self, count: int) -> list[_Floats]:
        quickest, rate = self.log_time.min(), (self.log_time - np.log(self.size)).min()
        slower, thinner = ((1.2, 2.5), (3.0, 15.0)) if count > 1 else ((1.0,), (1.0,))
        starts = []
        for first, second in product(slower, repeat=2) if count == 3 else ((factor, 1.0) for factor in slower):
            for third, fourth in product(thinner, repeat=2) if count == 3 else ((factor, 1.0) for factor in thinner):
                latency = np.cumsum(np.log([1.0, first, second][:count])) + quickest
                inverse = np.cumsum(np.log([1.0, third, fourth][:count]))[::-1] + rate
                starts.append(np.concatenate([latency, inverse, [np.log(0.3)]]))
        return starts

    def descend(self, theta: _Floats) -> _Floats:
        return descend(
            theta,
            lambda tried: self.residual(tried)[0],
            lambda taken, _: self.residual(taken)[1],
            self.scale,
            steps=_STEPS,
            least_gain=1e-9,
            within=_bounded,
        )

    def used(self, theta: _Floats) -> _Floats:
        """Without the protocols that are the quickest at no size."""
        slope = self.residual(theta)[1]
        count = len(theta) // 2
        kept = (slope[:, :count] > 0).any(axis=0)
        rest: _Floats = theta[np.concatenate([kept, kept, [True]])]
        return rest

    def spread(self, theta: _Floats) -> _Floats:
        """Factors of the 95 % intervals (inf: not told)."""
        residual, slope = self.residual(theta)
        weight = cauchy_weight(residual, self.scale)
        normal = slope.T @ (slope * weight[:, None])
        freedom = max(weight.sum() - len(theta), 1.0)
        variance = (weight * residual**2).sum() / freedom
        inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
        error = 2 * np.sqrt(np.maximum(variance * np.diag(inverse), 0))
        told = np.diag(normal) > 1e-9
        return np.where(told & (error < 3), np.exp(np.minimum(error, 3)), np.inf)
