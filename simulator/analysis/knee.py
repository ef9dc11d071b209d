"""Where latency ends and bandwidth begins, for one collective over sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["AlphaBeta", "alpha_beta", "crossovers", "knee_bytes"]


@dataclass(frozen=True, slots=True)
class AlphaBeta:
    """Hockney's model: time = alpha_ps + size / bandwidth (bytes/s); `worst` is its largest relative error."""

    alpha_ps: float
    bandwidth: float
    worst: float

    @property
    def knee_bytes(self) -> float:
        """The size whose transfer takes as long as the latency."""
        return self.alpha_ps * self.bandwidth / 1e12


def alpha_beta(sizes: Sequence[int], times_ps: Sequence[int]) -> AlphaBeta:
    """The fit with the least squares of relative errors, so that small sizes count as much as large ones.

    Raises ValueError for fewer than two different sizes.
    """
    size, time = np.array(sizes, np.float64), np.array(times_ps, np.float64)
    if len(np.unique(size)) < 2:
        raise ValueError("alpha and beta need at least two different sizes")
    (alpha, beta), *_ = np.linalg.lstsq(np.stack([1 / time, size / time], axis=1), np.ones_like(time), rcond=None)
    worst = float(np.abs((alpha + beta * size) / time - 1).max())
    return AlphaBeta(float(alpha), float(1e12 / beta) if beta > 0 else float("inf"), worst)


def knee_bytes(sizes: Sequence[int], times_ps: Sequence[int], floor_ps: int) -> float | None:
    """The size at which the time is twice the floor (that of no bytes), between two of the sizes linearly; None where
    no two of the sizes, ascending, have it between them."""
    time = np.array(times_ps, np.float64)
    below = np.flatnonzero(time < 2 * floor_ps)
    if not len(below) or below[-1] + 1 == len(time):
        return None
    at = below[-1]
    return float(np.interp(2 * floor_ps, time[at : at + 2], np.array(sizes, np.float64)[at : at + 2]))


def crossovers(sizes: Sequence[int], first_ps: Sequence[int], second_ps: Sequence[int]) -> list[float]:
    """Sizes, between the given ones linearly, at which the faster of two becomes the slower."""
    size = np.array(sizes, np.float64)
    gap = np.array(first_ps, np.float64) - np.array(second_ps, np.float64)
    changes = np.flatnonzero(np.sign(gap[:-1]) * np.sign(gap[1:]) < 0)
    return [float(size[k] + (size[k + 1] - size[k]) * gap[k] / (gap[k] - gap[k + 1])) for k in changes]
