"""How well fits predict what they have not seen: other sizes, other numbers of nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.calibration.calibration import Calibration
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.fitting import LEAST_SIZES, fit_curve
from hocket.calibration.levels import fit_levels

__all__ = ["BY", "Errors", "HeldOut", "Predict", "freely", "hold_out"]

BY = ("sizes", "nodes")
LARGE = 1 << 20  # bytes; errors above and up to here are told apart
_FOLDS = 2


@dataclass(frozen=True, slots=True)
class Errors:
    """Absolute relative errors: the median and the worst above 1 MiB, the median up to there (nan: no rows)."""

    median: float
    worst: float
    small: float

    @classmethod
    def of(cls, size_bytes: NDArray[np.int64], error: NDArray[np.float64]) -> "Errors":
        large, off = size_bytes > LARGE, np.abs(error)
        median, worst = (float(np.median(off[large])), float(off[large].max())) if large.any() else (np.nan, np.nan)
        return cls(median, worst, float(np.median(off[~large])) if not large.all() else np.nan)

    def __str__(self) -> str:
        large = f"median {self.median:.1%}, worst {self.worst:.1%} above 1 MiB"
        small = f"median {self.small:.1%} up to it"
        known = [text for text, value in ((large, self.median), (small, self.small)) if not np.isnan(value)]
        return "; ".join(known)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows of a curve that were predicted without them, and predicted / measured - 1 of each."""

    curve: MeasuredCurve
    error: NDArray[np.float64]

    @property
    def errors(self) -> Errors:
        return Errors.of(self.curve.size_bytes, self.error)


#: Predicts sizes (ascending, different) of a curve that has other ones.
Predict = Callable[[MeasuredCurve, NDArray[np.int64]], NDArray[np.float64]]


def freely(curve: MeasuredCurve, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """By the pieces of `fit_curve`."""
    return fit_curve(curve).pieces.time_us(sizes)


def hold_out(curves: Sequence[MeasuredCurve], by: str = "sizes", predict: Predict = freely) -> tuple[HeldOut, ...]:
    """By `sizes`: each curve is fitted on every other size and predicts those between, then the other way round. By
    `nodes`: each curve of several machines is predicted from the levels that the other curves of its kind tell.

    Raises FormatError where there is too little to hold anything out.
    """
    held = [*_sizes(curves, predict)] if by == "sizes" else [*_nodes(curves)]
    if not held:
        raise FormatError(
            "nothing can be held out: "
            + (
                f"a curve needs {_FOLDS * LEAST_SIZES} sizes or more"
                if by == "sizes"
                else "one collective needs measurements of one node and of two other numbers of nodes"
            )
        )
    return tuple(held)


def _sizes(curves: Sequence[MeasuredCurve], predict: Predict) -> list[HeldOut]:
    held = []
    for curve in curves:
        if len(curve.sizes) < _FOLDS * LEAST_SIZES:
            continue
        error = np.zeros(len(curve.size_bytes))
        for fold in range(_FOLDS):
            seen = ~np.isin(curve.size_bytes, curve.sizes[fold::_FOLDS])
            time = predict(curve.at(seen), curve.sizes)[np.searchsorted(curve.sizes, curve.size_bytes[~seen])]
            error[~seen] = time / curve.time_us[~seen] - 1
        held.append(HeldOut(curve, error))
    return held


def _nodes(curves: Sequence[MeasuredCurve]) -> list[HeldOut]:
    held = []
    fits = [fit_curve(curve) for curve in curves if len(curve.sizes) >= LEAST_SIZES]
    for left_out in fits:
        curve = left_out.curve
        others = tuple(fit for fit in fits if fit is not left_out and fit.curve.kind == curve.kind)
        pieces = Calibration(others, fit_levels(others), ()).pieces(curve.kind, curve.ranks, curve.nodes)
        if curve.nodes > 1 and pieces is not None:
            held.append(HeldOut(curve, pieces.time_us(curve.size_bytes) / curve.time_us - 1))
    return held
