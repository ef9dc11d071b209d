"""NCCL's own times, scaled to the few that were measured: the plain way, which anything better has to beat."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hocket.calibration.transfer.curve import Curve
from numpy.typing import NDArray

__all__ = ["ANCHORS", "SMALL", "anchored", "scaled"]

SMALL = 2**20
#: Bytes of the two rows that users are asked for.
ANCHORS = (2**13, 2**30)


def scaled(curve: Curve, own: Sequence[Curve]) -> NDArray[np.float64]:
    """NCCL's times (us) by what was measured / expected: straight in the logarithms between the sizes that were, as at
    the nearest outside them. Of other collectives or numbers of nodes of the machine, where this one was not measured;
    NCCL's own where nothing was."""
    alike = [each for each in own if (each.kind, each.ranks, each.nodes) == (curve.kind, curve.ranks, curve.nodes)]
    rows = alike or [each for each in own if (each.machines > 1) == (curve.machines > 1)] or list(own)
    if not rows:
        return curve.nccl_us
    size = np.concatenate([np.log2(each.sizes) for each in rows])
    factor = np.concatenate([np.log(each.time_us / each.nccl_us) for each in rows])
    at = np.unique(size)
    middle = [float(np.median(factor[size == one])) for one in at]
    return np.asarray(curve.nccl_us * np.exp(np.interp(np.log2(curve.sizes), at, middle)), np.float64)


def anchored(curve: Curve, sizes: Sequence[int] = ANCHORS) -> Curve:
    """The curve of which only the measured sizes nearest to these are known."""
    known = np.flatnonzero(curve.known)
    near = [known[np.argmin(np.abs(np.log2(curve.sizes[known]) - np.log2(size)))] for size in sizes]
    kept = np.isin(np.arange(len(curve.sizes)), near)
    return replace(curve, time_us=np.where(kept, curve.time_us, np.nan))
