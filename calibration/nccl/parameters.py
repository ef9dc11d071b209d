"""The `nccl` part of the file of fitted parameters, written (docs/calibrate.md has its keys)."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.nccl.fitted import TERMS, NcclCalibration
from hocket.nccl.fitted_file import FittedNccl, FittedNcclCurve, FittedSegment

__all__ = ["section_of"]


def section_of(calibration: NcclCalibration) -> FittedNccl:
    curves = [
        FittedNcclCurve(
            fit.kind,
            fit.ranks,
            fit.nodes,
            _digits(fit.factor),
            [
                FittedSegment(
                    *name,
                    f"{segment.smallest}B",
                    f"{segment.largest}B",
                    {
                        term: _digits(value)
                        for term, value in zip(TERMS, segment.weights.tolist(), strict=True)
                        if value > 0
                    },
                )
                for name, segment in fit.segments.items()
            ],
            _digits(fit.noise),
        )
        for fit in calibration.fits
    ]
    losses = {name: _digits(loss) for name, loss in calibration.losses.items()}
    constants = calibration.constants
    tables = {field.name: _rounded(getattr(constants, field.name)) for field in fields(constants)}
    return FittedNccl(calibration.release.name, losses, curves, tables, calibration.measured_on)


def _digits(value: float) -> float:
    """Six of them: more than any measurement has."""
    return float(f"{value:.6g}")


def _rounded(table: NDArray[np.float64]) -> list[Any]:
    shaped: list[Any] = np.array([_digits(value) for value in table.ravel().tolist()]).reshape(table.shape).tolist()
    return shaped
