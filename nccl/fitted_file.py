"""The `nccl` part of a calibration's parameters, read (docs/calibrate.md has its keys)."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from hocket.base.errors import FormatError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import YamlDocument, read_yaml
from hocket.base.units import parse_bytes
from hocket.nccl.constants import Constants
from hocket.nccl.fitted import FREE, TERMS, NcclCalibration, NcclCurveFit, SegmentFit
from hocket.nccl.kernels import MESSAGE
from hocket.nccl.measured_on import MeasuredOn
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.releases import RELEASES

__all__ = [
    "FORMAT",
    "VERSION",
    "FittedNccl",
    "FittedNcclCurve",
    "FittedSegment",
    "calibration_of",
    "checked_format",
    "read_nccl_calibration",
]

FORMAT, VERSION = "hocket.calibration", 3  # 1 had no `nccl`, 2 no `measured_on`


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
    noise: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class FittedNccl(msgspec.Struct, forbid_unknown_fields=True):
    """`losses` of sizes left out, by release and `free`; `constants` by the names and in the shapes of `Constants`."""

    release: str
    losses: dict[str, float]
    curves: list[FittedNcclCurve]
    constants: dict[str, list[Any]]
    measured_on: MeasuredOn | None = None


class _Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """The file, whose `curves` and `levels` are not read here."""

    format: str
    version: int
    curves: list[Any]
    levels: list[Any]
    nccl: FittedNccl | None = None


def read_nccl_calibration(path: Path | str) -> NcclCalibration:
    """What the file says of NCCL. Raises FormatError, naming file and line, also where it says nothing."""
    document = read_yaml(read_text(path, YAML), str(path))
    parameters = document.convert(_Parameters)
    checked_format(document, parameters.format, parameters.version)
    if parameters.nccl is None:
        raise FormatError(f"{path}: says nothing of NCCL: make it by hocket calibrate --nccl FILE.xml")
    return _nccl_of(parameters.nccl, document)


def calibration_of(path: Path | str, model: NcclModel) -> NcclCalibration:
    """The calibration, for a model of the nodes that it was measured on. Raises FormatError elsewhere."""
    calibration = read_nccl_calibration(path)
    if calibration.measured_on is None:
        raise FormatError(
            f"{path}: does not say on which nodes it was measured: make it again with hocket calibrate --nccl"
        )
    calibration.measured_on.refuse_elsewhere(model, str(path))
    return calibration


def checked_format(document: YamlDocument, name: str, version: int) -> None:
    """Raises FormatError where the file is another or newer."""
    if name != FORMAT or not 1 <= version <= VERSION:
        raise FormatError(f"{document.where('$.format')}: expected format {FORMAT}, version 1 to {VERSION}")


def _nccl_of(section: FittedNccl, document: YamlDocument) -> NcclCalibration:
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
        fits.append(NcclCurveFit(curve.collective, curve.ranks, curve.nodes, segments, curve.factor, curve.noise))
    own = _constants(section, document)
    return NcclCalibration(RELEASES[section.release], tuple(fits), section.losses, own, section.measured_on)


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
