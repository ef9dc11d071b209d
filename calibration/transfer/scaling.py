"""NCCL's own times, scaled by what a few measured sizes took over them: what knows of no other machine."""

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.features import CurveFeatures, Observed

__all__ = ["scaled_us"]


def scaled_us(known: Observed, features: CurveFeatures) -> NDArray[np.float64]:
    """The factor is straight in the logarithm of the size between the known ones, and the nearest one's beyond."""
    factor = np.log(known.time_us / known.features.expected_us)
    sizes, asked = np.log(known.features.size_bytes), np.log(features.size_bytes)
    time: NDArray[np.float64] = features.expected_us * np.exp(np.interp(asked, sizes, factor))
    return time
