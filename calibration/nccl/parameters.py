"""The `nccl` part of the file of fitted parameters (docs/calibrate.md has its keys)."""

from dataclasses import fields
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import YamlDocument
from hocket.base.units import parse_bytes
from hocket.calibration.nccl.calibration import FREE, NcclCalibration
from hocket.calibration.nccl.curve import NcclCurveFit
from hocket.calibration.nccl.segment import TERMS, SegmentFit
from hocket.nccl import ALGORITHMS, PROTOCOLS, Constants
from hocket.nccl.kernels import MESSAGE
from hocket.nccl.releases import RELEASES

__all__ = ["FittedNccl", "nccl_of", "section_of"]


class FittedSegment(msgspec.Struct, forbid_unknown_fields=True):
    """Calls by one algorithm and protocol; `terms` are us (`nccl_segment`), those that are there."""

    algorithm: str
    protocol: str
    smallest: str
    largest: str
    terms: dict[str, Annotated[float, msgspec.Meta(ge=0)]]


class FittedNcclCurve(msgspec.Struct, forbid_unknown_fields=True):
    collective: str
    ranks: Annotated[int, msgspec.Meta(ge=2)]
    nodes: Annotated[int, msgspec.Meta(ge=1)]
    factor: Annotated[float, msgspec.Meta(ge=0)]
    segments: Annotated[list[FittedSegment], msgspec.Meta(min_length=1)]


class FittedNccl(msgspec.Struct, forbid_unknown_fields=True):
    """`losses` of sizes left out, by release and `free`; `constants` by the names and in the shapes of `Constants`."""

    release: str
    losses: dict[str, float]
    curves: list[FittedNcclCurve]
    constants: dict[str, list[Any]]


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
        )
        for fit in calibration.fits
    ]
    losses = {name: _digits(loss) for name, loss in calibration.losses.items()}
    constants = calibration.constants
    tables = {field.name: _rounded(getattr(constants, field.name)) for field in fields(constants)}
    return FittedNccl(calibration.release.name, losses, curves, tables)


def nccl_of(section: FittedNccl, document: YamlDocument) -> NcclCalibration:
    """Raises FormatError, naming file and line."""
    if section.release not in RELEASES or not {section.release, FREE} <= set(section.losses) <= {*RELEASES, FREE}:
        raise FormatError(f"{document.where('$.nccl.release')}: expected one of the releases {', '.join(RELEASES)}")
    fits = []
    for at, curve in enumerate(section.curves):
        where = document.where(f"$.nccl.curves[{at}]")
        segments = {}
        for each in curve.segments:
            if each.algorithm not in (*ALGORITHMS, MESSAGE) or each.protocol not in PROTOCOLS:
                raise FormatError(f"{where}: '{each.algorithm}/{each.protocol}': no algorithm and protocol of NCCL")
            if not each.terms or not set(each.terms) <= set(TERMS):
                raise FormatError(f"{where}: terms {', '.join(each.terms)}: expected some of {', '.join(TERMS)}")
            weights = np.array([each.terms.get(term, 0.0) for term in TERMS])
            try:
                span = parse_bytes(each.smallest), parse_bytes(each.largest)
            except FormatError as error:
                raise FormatError(f"{where}: {error}") from error
            segments[each.algorithm, each.protocol] = SegmentFit(weights, *span)
        fits.append(NcclCurveFit(curve.collective, curve.ranks, curve.nodes, segments, curve.factor))
    return NcclCalibration(RELEASES[section.release], tuple(fits), section.losses, _constants(section, document))


def _constants(section: FittedNccl, document: YamlDocument) -> Constants:
    where = document.where("$.nccl.constants")
    own = Constants.of_nccl()
    tables = {}
    for field in fields(own):
        shape = getattr(own, field.name).shape
        try:
            table = np.array(section.constants.get(field.name), np.float64)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{where}: {field.name}: expected numbers in {shape}") from error
        if table.shape != shape or not (np.isfinite(table) & (table >= 0)).all():
            raise FormatError(f"{where}: {field.name}: expected numbers of 0 or more in {shape}")
        tables[field.name] = table
    return Constants(**tables)


def _digits(value: float) -> float:
    """Six of them: more than any measurement has."""
    return float(f"{value:.6g}")


def _rounded(table: NDArray[np.float64]) -> list[Any]:
    shaped: list[Any] = np.array([_digits(value) for value in table.ravel().tolist()]).reshape(table.shape).tolist()
    return shaped
