"""The file of fitted parameters that stands beside a calibrated topology (docs/calibrate.md has its keys)."""

from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import yaml

from hocket.base.errors import FormatError
from hocket.base.files import atomic_write
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import YamlDocument, read_yaml
from hocket.base.units import exact_bandwidth, exact_time, parse_bandwidth, parse_time
from hocket.calibration.calibration import Calibration
from hocket.calibration.levels import Estimate
from hocket.calibration.nccl.parameters import section_of
from hocket.calibration.pieces import PROTOCOLS, Pieces
from hocket.nccl.fitted import NcclCalibration
from hocket.nccl.fitted_file import FORMAT, VERSION, FittedNccl, checked_format

__all__ = ["read_parameters", "save_parameters"]


class FittedProtocol(msgspec.Struct, forbid_unknown_fields=True):
    """Values with a unit; of each a factor: with 95 % certainty it lies between value / factor and value x factor."""

    name: str
    latency: str
    bandwidth: str
    latency_within: float | None = None
    bandwidth_within: float | None = None


class FittedCurve(msgspec.Struct, forbid_unknown_fields=True):
    collective: str
    ranks: Annotated[int, msgspec.Meta(ge=2)]
    nodes: Annotated[int, msgspec.Meta(ge=1)]
    pipelining: Annotated[float, msgspec.Meta(ge=0, le=2)]
    smallest: str
    largest: str
    protocols: Annotated[list[FittedProtocol], msgspec.Meta(min_length=1, max_length=3)]


class FittedLevel(msgspec.Struct, forbid_unknown_fields=True):
    collective: str
    level: str
    protocol: str
    bandwidth: str
    bandwidth_within: float | None = None
    latency: str | None = None
    latency_within: float | None = None
    at_least: bool = False


class FittedParameters(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    curves: list[FittedCurve]
    levels: list[FittedLevel]
    nccl: FittedNccl | None = None


def save_parameters(
    calibration: Calibration, path: Path | str, nccl: NcclCalibration | None = None, comment: str = ""
) -> None:
    """Writes all curves and levels, and what is known of NCCL, as YAML below a comment."""
    curves = [
        FittedCurve(
            fit.curve.kind,
            fit.curve.ranks,
            fit.curve.nodes,
            round(fit.pieces.pipelining, 4),
            f"{fit.curve.sizes[0]}B",
            f"{fit.curve.sizes[-1]}B",
            [
                FittedProtocol(
                    name,
                    _time(float(fit.pieces.latency_us[at])),
                    exact_bandwidth(max(1, round(float(fit.pieces.bandwidth[at])))),
                    _within(float(fit.latency_spread[at])),
                    _within(float(fit.bandwidth_spread[at])),
                )
                for at, name in enumerate(fit.pieces.names)
            ],
        )
        for fit in calibration.fits
    ]
    levels = [
        FittedLevel(
            each.kind,
            each.level,
            each.protocol,
            exact_bandwidth(max(1, round(each.bandwidth.value))),
            _within(each.bandwidth.spread),
            _time(each.latency_us.value) if each.latency_us else None,
            _latency_within(each.latency_us),
            each.at_least,
        )
        for each in calibration.levels
    ]
    content = msgspec.to_builtins(FittedParameters(FORMAT, VERSION, curves, levels, section_of(nccl) if nccl else None))
    with atomic_write(path) as file:
        file.write(comment)
        yaml.safe_dump(content, file, sort_keys=False, width=120)


def read_parameters(path: Path | str) -> dict[tuple[str, int, int], Pieces]:
    """The fitted curves by (collective, ranks, nodes). Raises FormatError, naming file and line."""
    document, parameters = _read(path)
    found = {}
    for at, curve in enumerate(parameters.curves):
        where = document.where(f"$.curves[{at}]")
        names = tuple(protocol.name for protocol in curve.protocols)
        if names != PROTOCOLS[len(names)]:
            raise FormatError(f"{where}: protocols {', '.join(names)}: expected {', '.join(PROTOCOLS[len(names)])}")
        try:
            latency = np.array([parse_time(protocol.latency) / 1e6 for protocol in curve.protocols])
            inverse = np.array([1e6 / parse_bandwidth(protocol.bandwidth) for protocol in curve.protocols])
        except FormatError as error:
            raise FormatError(f"{where}: {error}") from error
        found[curve.collective, curve.ranks, curve.nodes] = Pieces(latency, inverse, curve.pipelining)
    return found


def _read(path: Path | str) -> tuple[YamlDocument, FittedParameters]:
    document = read_yaml(read_text(path, YAML), str(path))
    parameters = document.convert(FittedParameters)
    checked_format(document, parameters.format, parameters.version)
    return document, parameters


def _time(time_us: float) -> str:
    return exact_time(round(time_us * 1e6))


def _within(spread: float) -> float | None:
    return round(spread, 4) if np.isfinite(spread) else None


def _latency_within(latency: Estimate | None) -> float | None:
    return _within(latency.spread) if latency else None
