"""What the page of a calibration shows, as the JSON of `hocket calibrate` has it."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.calibration import (
    MESSAGE,
    Calibration,
    CurveFit,
    Disagreement,
    Errors,
    Estimate,
    HeldOut,
    LevelFit,
    MeasuredCurve,
    Pieces,
)
from hocket.calibration.simulated import is_leading, simulated_us
from hocket.topology import Topology

__all__ = [
    "AdaptedCurve",
    "AdaptedFacts",
    "CalibrationFacts",
    "CurveFacts",
    "EstimateFacts",
    "HeldOutFacts",
    "LevelFacts",
    "calibration_facts",
]

_Size = Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
_Positive = Annotated[float, msgspec.Meta(gt=1e-30, lt=1e30)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]
_Floats = NDArray[np.float64]


class CurveFacts(msgspec.Struct, frozen=True):
    """A measured curve, a row a measurement, and what fits it: `CurveFit`. A spread that the measurements do not tell
    is None; so is `simulated_us`, of each size, where the topology has no such ranks."""

    kind: str
    ranks: _Size
    nodes: _Size
    size_bytes: Annotated[list[_Size], msgspec.Meta(min_length=1)]
    time_us: list[_Positive]
    place: list[str]
    latency_us: Annotated[list[_Rate], msgspec.Meta(min_length=1, max_length=3)]
    us_per_byte: list[_Positive]
    latency_spread: list[_Positive | None]
    bandwidth_spread: list[_Positive | None]
    pipelining: _Rate
    noise: _Rate
    weight: list[_Rate]
    simulated_us: list[_Positive] | None

    def fit(self) -> CurveFit:
        """As it was fitted."""
        sizes, times = np.array(self.size_bytes, np.int64), np.array(self.time_us, np.float64)
        curve = MeasuredCurve(self.kind, self.ranks, self.nodes, sizes, times, tuple(self.place))
        pieces = Pieces(np.array(self.latency_us), np.array(self.us_per_byte), self.pipelining)
        spreads = (_spreads(self.latency_spread), _spreads(self.bandwidth_spread))
        return CurveFit(curve, pieces, *spreads, self.noise, np.array(self.weight))


class EstimateFacts(msgspec.Struct, frozen=True):
    """A value and the factor of its 95 % interval, None where it is not told."""

    value: _Rate
    spread: _Rate | None


class LevelFacts(msgspec.Struct, frozen=True):
    """`LevelFit`: us a step, bytes/s a rank and direction."""

    level: str
    kind: str
    protocol: str
    latency_us: EstimateFacts | None
    bandwidth: EstimateFacts
    at_least: bool


class HeldOutFacts(msgspec.Struct, frozen=True):
    """A curve by its name, and the absolute errors of its rows as they were predicted without them: the median and the
    worst above 1 MiB, the median up to there; None: no such rows."""

    curve: str
    median: _Rate | None
    worst: _Rate | None
    small: _Rate | None

    @property
    def errors(self) -> Errors:
        known = (np.nan if value is None else value for value in (self.median, self.worst, self.small))
        return Errors(*known)


class AdaptedCurve(msgspec.Struct, frozen=True):
    """Times of a collective by size, and what holds 90 % of each; `measured`: some of its rows were."""

    kind: str
    ranks: _Size
    nodes: _Size
    measured: bool
    size_bytes: Annotated[list[_Size], msgspec.Meta(min_length=1)]
    time_us: list[_Positive]
    least_us: list[_Positive]
    most_us: list[_Positive]


class AdaptedFacts(msgspec.Struct, frozen=True):
    """What the rows tell with public tables of other nodes; `situation`: how near those are."""

    situation: str
    curves: list[AdaptedCurve]


class CalibrationFacts(msgspec.Struct, frozen=True):
    """Of measurements on the topology of that name, None: of measurements alone. `adapted`: None where public tables
    tell nothing; `notes`: on disturbed rows, curves that are too short, and the calibrated topology."""

    topology: str | None
    curves: list[CurveFacts]
    levels: list[LevelFacts]
    held_out: list[HeldOutFacts]
    disagreements: list[Disagreement]
    adapted: AdaptedFacts | None = None
    notes: list[str] = []


def calibration_facts(
    calibration: Calibration,
    topology: Topology | None,
    held: Sequence[HeldOut],
    found: Sequence[Disagreement],
    adapted: AdaptedFacts | None = None,
    notes: Sequence[str] = (),
) -> CalibrationFacts:
    """Those of a calibration; with a topology also what the simulator says of it as it was given."""
    return CalibrationFacts(
        topology=None if topology is None else topology.name,
        curves=[_curve(fit, topology) for fit in calibration.fits],
        levels=[_level(each) for each in calibration.levels],
        held_out=[
            HeldOutFacts(each.curve.name, *map(_told, (errors.median, errors.worst, errors.small)))
            for each in held
            for errors in [each.errors]
        ],
        disagreements=[*found],
        adapted=adapted,
        notes=[*notes],
    )


def _curve(fit: CurveFit, topology: Topology | None) -> CurveFacts:
    curve, pieces = fit.curve, fit.pieces
    simulated = None
    if topology is not None and curve.kind != MESSAGE and is_leading(curve, topology):
        simulated = simulated_us(curve, topology, curve.sizes.tolist()).tolist()
    return CurveFacts(
        kind=str(curve.kind),
        ranks=curve.ranks,
        nodes=curve.nodes,
        size_bytes=curve.size_bytes.tolist(),
        time_us=curve.time_us.tolist(),
        place=[*curve.place],
        latency_us=pieces.latency_us.tolist(),
        us_per_byte=pieces.us_per_byte.tolist(),
        latency_spread=[*map(_told, fit.latency_spread.tolist())],
        bandwidth_spread=[*map(_told, fit.bandwidth_spread.tolist())],
        pipelining=pieces.pipelining,
        noise=fit.noise,
        weight=fit.weight.tolist(),
        simulated_us=simulated,
    )


def _level(each: LevelFit) -> LevelFacts:
    latency = None if each.latency_us is None else _estimate(each.latency_us)
    return LevelFacts(each.level, str(each.kind), each.protocol, latency, _estimate(each.bandwidth), each.at_least)


def _estimate(each: Estimate) -> EstimateFacts:
    return EstimateFacts(each.value, _told(each.spread))


def _told(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _spreads(values: Sequence[float | None]) -> _Floats:
    return np.array([np.inf if value is None else value for value in values], np.float64)
