"""Curves over sizes, read back from their JSON form."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np

from hocket.base.errors import FormatError
from hocket.base.reading import JSON, read_text
from hocket.simulator.analysis import AlphaBeta
from hocket.simulator.curves import SimulatedCurve

__all__ = ["StoredCurves", "stored_curves"]

_Number = Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
_Positive = Annotated[float, msgspec.Meta(gt=0, lt=1e30)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]


class _Rows(msgspec.Struct):
    size_bytes: list[_Number]
    time_ps: list[_Number]
    bound_ps: list[Annotated[int, msgspec.Meta(ge=0, lt=2**62)]]
    algbw: list[_Rate]
    busbw: list[_Rate]
    ratio: list[_Rate]
    regime: list[Literal["latency", "bandwidth"]]
    used_algorithm: list[str]


class _Curve(msgspec.Struct):
    topology: str
    algorithm: str
    routing: str
    floor_ps: Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
    knee_bytes: _Positive | None
    fit: AlphaBeta | None
    rows: _Rows


class _Form(msgspec.Struct):
    format: Literal["hocket.curves"]
    version: Literal[1]
    collective: str
    curves: Annotated[list[_Curve], msgspec.Meta(min_length=1)]
    assumed: list[str] = []
    measured: list[str] = []


class StoredCurves(NamedTuple):
    """A collective and its curves; `assumed` of them, in sentences, and what was `measured` of nodes like these, in
    lines."""

    collective: str
    curves: tuple[SimulatedCurve, ...]
    assumed: tuple[str, ...]
    measured: tuple[str, ...]


def stored_curves(path: Path | str) -> StoredCurves:
    """What a JSON file of `hocket simulate` over sizes holds. Raises FormatError, naming the file, where it holds no
    curves."""
    try:
        form = msgspec.json.decode(read_text(path, JSON), type=_Form)
        curves = tuple(_curve(each) for each in form.curves)
        return StoredCurves(form.collective, curves, tuple(form.assumed), tuple(form.measured))
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{path}: no curves: {error}; simulate the sizes again with --json") from error


def _curve(stored: _Curve) -> SimulatedCurve:
    columns = {name: np.array(values) for name, values in msgspec.structs.asdict(stored.rows).items()}
    if len({len(column) for column in columns.values()}) != 1 or not len(columns["size_bytes"]):
        raise ValueError("columns of different lengths, or empty")
    rest = stored.floor_ps, stored.knee_bytes, stored.fit
    return SimulatedCurve(stored.topology, stored.algorithm, columns, *rest, routing=stored.routing)
