"""NCCL's own structure, fitted to measurements: times of what it ran, beside those that it expects.

Which release ran, tables of today's nccl-tests say, others do not; and of one that is not known the structure may be
wrong. So each release that may have run, and the free fit (`fitting`), is judged by how well it predicts sizes that are
left out, one after the other, over all curves of the cluster together; the least loss is taken. Nothing is chosen per
curve.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.calibration import fitting
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.nccl import curve as nccl_curve
from hocket.calibration.nccl.constants import constants_of
from hocket.calibration.nccl.curve import fit_structure, has_structure
from hocket.calibration.nccl.releases import Releases
from hocket.calibration.validation import Predict, freely
from hocket.nccl.fitted import FREE, NcclCalibration, NcclCurveFit
from hocket.nccl.releases import RELEASES

__all__ = ["calibrate_nccl", "predictor"]


def calibrate_nccl(fits: Sequence[fitting.CurveFit], releases: Releases) -> NcclCalibration:
    """Of the fits of `calibrate`. Raises FormatError where the structure is known of none of their curves."""
    known = [fit for fit in fits if has_structure(fit.curve.kind, fit.curve.nodes)]
    if not known:
        raise FormatError(
            f"{fits[0].curve.place[0]}: NCCL's structure is not known of anything that was measured: measure"
            " collectives, or messages inside a machine"
        )
    losses = {FREE: sum(map(fitting.leave_one_out, known))}
    found: dict[str, tuple[NcclCurveFit, ...]] = {}
    for release in releases.candidates:
        pairs = [(fit.curve, releases.structure(release, fit.curve)) for fit in known]
        losses[release.name] = sum(nccl_curve.leave_one_out(curve, structure) for curve, structure in pairs)
        found[release.name] = tuple(fit_structure(curve, structure) for curve, structure in pairs)
    chosen = min(found, key=lambda name: losses[name])
    constants = constants_of(found[chosen], RELEASES[chosen], releases)
    return NcclCalibration(RELEASES[chosen], found[chosen], losses, constants)


def predictor(calibration: NcclCalibration, releases: Releases, by: str | None = None) -> Predict:
    """By a release, or FREE; by what predicted left-out sizes best, if not said."""

    def by_nccl(curve: MeasuredCurve, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        if not has_structure(curve.kind, curve.nodes):
            return freely(curve, sizes)
        structure = releases.structure(RELEASES[name], curve, sizes)
        return fit_structure(curve, structure).time_us(structure)

    name = by or calibration.best
    return freely if name == FREE else by_nccl
