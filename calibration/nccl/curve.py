"""A curve as what NCCL ran at each size, and the fit of each such segment.

NCCL switches algorithm and protocol where its own model says so, not where it is best, so that the curve is not the
least of its parts: with the machine's topology file the switch points are known, and each part is fitted on its own.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import MESSAGE
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.fitting import TUNING, noise_of
from hocket.calibration.nccl.segment import fit_segment
from hocket.nccl.fitted import NCCL_NAMES, Name, NcclCurveFit, SegmentFit, Structure, columns_at, messages_of
from hocket.nccl.kernels import MESSAGE as SENDRECV
from hocket.nccl.kernels import message_protocols
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.releases import Release
from hocket.schedule import Kind

__all__ = ["fit_structure", "has_structure", "leave_one_out", "structure_of"]

_Floats = NDArray[np.float64]

_ROBUST = 1.4826  # of a median of absolute errors: the standard deviation, were they normal


def has_structure(kind: str, nodes: int) -> bool:
    """Whether it is known what NCCL runs: not of messages between machines, gather and scatter."""
    return kind in NCCL_NAMES or (kind in (MESSAGE, Kind.ALL_TO_ALL) and nodes == 1)


def structure_of(
    model: NcclModel, release: Release, kind: str, sizes: NDArray[np.int64], ran: Mapping[int, Name]
) -> Structure:
    """Of a kind that `has_structure`: what the model says, but at sizes of which it was told what `ran`."""
    if kind in NCCL_NAMES:
        choices = model.choose(NCCL_NAMES[kind], sizes)
        pairs = zip(sizes.tolist(), choices.algorithm.tolist(), choices.protocol.tolist(), strict=True)
        chosen = [ran.get(size, (ALGORITHMS[algorithm], PROTOCOLS[protocol])) for size, algorithm, protocol in pairs]
    else:
        messages = messages_of(kind, model.ranks, sizes)
        protocols = message_protocols(model.ranks, model.channels[0], messages, release)
        chosen = [(SENDRECV, protocol) for protocol in protocols]
    names = tuple(dict.fromkeys(chosen))
    columns = np.array([columns_at(model, kind, name, sizes) for name in names])
    return Structure(sizes, names, np.array([names.index(name) for name in chosen]), columns)


def fit_structure(curve: MeasuredCurve, structure: Structure) -> NcclCurveFit:
    """The fit of a curve whose sizes are among the structure's."""
    rows = _Rows(curve, structure)
    segments = {}
    off = np.concatenate([np.zeros(0), *_left_out(rows, structure)])
    for number in np.unique(rows.used).tolist():
        chosen = rows.used == number
        size = curve.size_bytes[chosen]
        segments[structure.names[number]] = SegmentFit(rows.fit(chosen), int(size[0]), int(size[-1]))
    finite = np.abs(off[np.isfinite(off)])
    noise = _ROBUST * float(np.median(finite)) if len(finite) else 0.0
    return NcclCurveFit(curve.kind, curve.ranks, curve.nodes, segments, rows.factor(), noise)


def leave_one_out(curve: MeasuredCurve, structure: Structure) -> float:
    """The loss of every size's rows, predicted by the fit without them, as `fitting.leave_one_out` counts it."""
    rows = _Rows(curve, structure)
    return float(sum(np.log1p((off / rows.scale) ** 2).sum() for off in _left_out(rows, structure)))


def _left_out(rows: "_Rows", structure: Structure) -> Iterator[_Floats]:
    """Of every size's rows: how far the fit without them is off, in logarithms."""
    for left_out in np.unique(rows.at):
        here = rows.at == left_out
        segment = (rows.used == structure.used[left_out]) & ~here
        if segment.any():
            time = float(rows.columns[here][0] @ rows.fit(segment))
        else:
            time = rows.factor(~here) * float(rows.columns[here][0, 0])
        with np.errstate(divide="ignore"):  # what nothing tells is infinitely wrong
            yield np.log(time / rows.time_us[here])


class _Rows:
    """The measurements of a curve beside what NCCL ran: `at`, which size; `used`, which name; `columns`."""

    def __init__(self, curve: MeasuredCurve, structure: Structure) -> None:
        self.time_us = curve.time_us
        self.at = np.searchsorted(structure.sizes, curve.size_bytes)
        self.used = structure.used[self.at]
        self.columns = structure.columns[self.used, self.at]
        self.scale = TUNING * noise_of(curve)
        self.penalty = float(np.log(len(self.at)) / TUNING**2)

    def fit(self, chosen: NDArray[np.bool_]) -> _Floats:
        return fit_segment(self.columns[chosen], self.time_us[chosen], self.scale, self.penalty)

    def factor(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> float:
        """Measured / expected in the median; 0 where NCCL expects nothing."""
        expected = self.columns[chosen, 0]
        return float(np.median(self.time_us[chosen] / expected)) if expected.all() else 0.0
