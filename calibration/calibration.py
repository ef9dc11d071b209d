"""From measurements and a topology to the calibrated topology, protocols and levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hocket.base.errors import FormatError
from hocket.calibration.curve import MeasuredCurve, curves_of
from hocket.calibration.fitting import LEAST_SIZES, CurveFit, fit_curve
from hocket.calibration.levels import LevelFit, fit_levels, pieces_of
from hocket.calibration.machine import group_of
from hocket.calibration.measurement import Measurement
from hocket.calibration.pieces import Pieces
from hocket.calibration.run_consistency import refuse_mixed
from hocket.schedule import Kind
from hocket.topology import Topology

__all__ = ["Calibration", "calibrate"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """The fits of the curves, the levels they tell, and curves too short to fit."""

    fits: tuple[CurveFit, ...]
    levels: tuple[LevelFit, ...]
    left_out: tuple[MeasuredCurve, ...]

    def pieces(self, kind: str, ranks: int, nodes: int) -> Pieces | None:
        """The model of a call: of its own curve, else of the levels; None where they were not measured."""
        same = [fit for fit in self.fits if fit.curve.kind == kind]
        for fit in same:
            if (fit.curve.ranks, fit.curve.nodes) == (ranks, nodes):
                return fit.pieces
        if not same:
            return None
        nearest = min(same, key=lambda fit: abs(np.log(fit.curve.ranks / ranks)))
        return pieces_of(self.levels, kind, ranks, nodes, nearest.pieces.pipelining)

    def time_us(self, kind: str, ranks: int, nodes: int, size_bytes: ArrayLike) -> NDArray[np.float64]:
        """Predicted microseconds. Raises FormatError where a level that the call uses was not measured."""
        pieces = self.pieces(kind, ranks, nodes)
        if pieces is None:
            raise FormatError(f"{kind} on {ranks} ranks of {nodes} nodes: no measurements of a level that it uses")
        return pieces.time_us(size_bytes)

    @property
    def reference(self) -> str:
        """The kind of collective whose numbers the topology takes: all_reduce, or that of the most rows."""
        rows: dict[str, int] = {}
        for fit in self.fits:
            rows[fit.curve.kind] = rows.get(fit.curve.kind, 0) + len(fit.curve.size_bytes)
        return Kind.ALL_REDUCE.value if Kind.ALL_REDUCE in rows else max(sorted(rows), key=lambda kind: rows[kind])


def calibrate(measurements: Sequence[Measurement], topology: Topology | None = None) -> Calibration:
    """Fits every curve of four sizes or more, and the levels.

    Raises FormatError where there is no such curve, or runs of two machines are mixed, and TopologyError where the
    topology cannot hold one.
    """
    refuse_mixed(measurements)
    curves = curves_of(measurements)
    if topology is not None:
        for curve in curves:
            group_of(curve, topology)
    kept = [curve for curve in curves if len(curve.sizes) >= LEAST_SIZES]
    if not kept:
        places = curves[0].place[0] if curves else "the measurements"
        raise FormatError(
            f"{places}: no collective at {LEAST_SIZES} sizes or more, so nothing to fit: measure from 8 B to 1 GiB"
            " (nccl-tests: -b 8 -e 1G -f 2)"
        )
    fits = tuple(fit_curve(curve) for curve in kept)
    return Calibration(fits, fit_levels(fits), tuple(curve for curve in curves if len(curve.sizes) < LEAST_SIZES))
