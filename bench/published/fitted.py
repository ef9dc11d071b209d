"""How slow each kind of work is over its price, fitted to published steps.

The logarithms of the slownesses are fitted to the logarithms of times, errors counted by Huber's loss, so that rows
which no price explains do not decide; each pair of GPU and model weighs the same, however often it was published. What
the rows do not tell stays where it is expected before (`_PRIOR`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.bench.published.folded import KINDS, FoldedStep
from hocket.bench.published.rows import Job

__all__ = ["Case", "Slowness", "fit"]

# Of KINDS: about how slow, and how well that is known, as the standard deviation of its logarithm. Tensor parallel
# communication is half hidden behind multiplications (userbuffers, asynchronous TP).
_PRIOR = (
    (1.1, 0.15), (1.1, 0.2), (1.2, 0.3), (1.1, 0.3), (1.2, 0.3), (1.2, 0.3), (1.3, 0.3),
    (1.0, 0.7), (0.5, 0.7), (1.0, 0.5), (1.0, 0.4),
)  # fmt: skip
# The power by which multiplications slow down with the watts that a chip has for its peak.
_POWER = (0.2, 0.2)
_PRODUCTS = 6  # the first kinds: products and attention
# For a TFLOP/s of the peak at BF16: H100's, of which the prior is; chips of which it is unknown count as that.
_WATTS = 700 / 989
_HUBER = 0.08
_NOISE = 0.08  # of a published step: what releases differ by
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Slowness:
    """The fitted logarithms, in the order of _PRIOR, and the power of watts."""

    logarithms: NDArray[np.float64]

    def of(self, watts: float) -> NDArray[np.float64]:
        """Of each of KINDS on a chip that has so many watts for a TFLOP/s."""
        found: NDArray[np.float64] = np.exp(self.logarithms[:-1])
        if watts:
            found[:_PRODUCTS] *= (_WATTS / watts) ** self.power
        return found

    @property
    def power(self) -> float:
        """How products slow down with too few watts: times 2 to this where there are half as many."""
        return float(self.logarithms[-1])


@dataclass(eq=False)
class Case:
    """A job, its folded step, and the longest paths that were met so far (paths x KINDS)."""

    job: Job
    step: FoldedStep
    watts: float
    paths: NDArray[np.float64]

    @classmethod
    def of(cls, job: Job, watts: float) -> "Case":
        case = cls(job, FoldedStep(job), watts, np.zeros((0, len(KINDS))))
        case.seconds(prior())
        return case

    def seconds(self, slowness: Slowness) -> float:
        """The predicted step, exactly; its path is kept."""
        path = self.step.path(slowness.of(self.watts))
        self.paths = np.unique(np.vstack([self.paths, path]), axis=0)
        return float(path @ slowness.of(self.watts))

    def estimate(self, slowness: Slowness) -> float:
        """The same by the paths that are known: the truth or less."""
        return float((self.paths @ slowness.of(self.watts)).max())


def prior() -> Slowness:
    return Slowness(np.append(np.log([mean for mean, _ in _PRIOR]), _POWER[0]))


def fit(cases: Sequence[Case]) -> Slowness:
    """The slownesses that explain the cases' published steps best."""
    count = Counter((case.job.gpu, case.job.model) for case in cases)
    weight = np.array([1 / count[case.job.gpu, case.job.model] for case in cases])
    published = np.log([case.job.seconds for case in cases])
    start = prior().logarithms
    spread = np.array([spread for _, spread in (*_PRIOR, _POWER)])
    found = start.copy()
    for _ in range(_ROUNDS):
        errors, slope = _errors(cases, found, published)
        # Iteratively reweighted least squares: a large error counts as its size, not as its square.
        weights = weight * np.minimum(1, _HUBER / np.maximum(np.abs(errors), 1e-9)) / _NOISE**2
        left = slope.T @ (weights[:, None] * slope) + np.diag(1 / spread**2)
        right = slope.T @ (weights * errors) + (found - start) / spread**2
        change = np.linalg.solve(left, right)
        found = found - np.clip(change, -0.3, 0.3)
        if np.abs(change).max() < 1e-4:
            break
    return Slowness(found)


def _errors(
    cases: Sequence[Case], logarithms: NDArray[np.float64], published: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of predicted over published, and their derivatives by every parameter."""
    step = 1e-4

    def predicted(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log([case.estimate(Slowness(at)) for case in cases])

    here = predicted(logarithms)
    slope = [(predicted(logarithms + step * axis) - here) / step for axis in np.eye(len(logarithms))]
    return here - published, np.array(slope).T
