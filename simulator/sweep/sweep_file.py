"""The YAML file that says what a sweep varies."""

from pathlib import Path
from typing import TypeVar

import msgspec

from hocket.core.errors import FormatError
from hocket.core.files import read_text
from hocket.core.strict_yaml import read_yaml
from hocket.core.units import parse_sizes
from hocket.simulator.sweep.grid import grid
from hocket.simulator.sweep.point import Point

__all__ = ["load_sweep"]

Value = TypeVar("Value")
Texts = str | list[str]
Sizes = str | int | list[str | int]
Counts = int | list[int]


class SweepFile(msgspec.Struct, forbid_unknown_fields=True):
    """One value or a list of each; sizes may be ranges (`1KiB..1GiB:4`)."""

    topology: Texts
    collective: Texts
    size: Sizes
    algorithm: Texts = "auto"
    model: Texts = "congestion"
    switching: Texts = "cut_through"
    queueing: Texts = "fifo"
    chunks: Counts = 1
    root: Counts = 0


def load_sweep(path: Path | str) -> list[Point]:
    """The points of a sweep file: all combinations of its values. Raises FormatError naming file, line and key."""
    document = read_yaml(read_text(path), str(path))
    content = document.convert(SweepFile)
    try:
        sizes = [size for text in _list(content.size) for size in parse_sizes(str(text))]
    except FormatError as error:
        raise FormatError(f"{document.where('$.size')}: {error}") from error
    points = grid(
        topologies=_list(content.topology),
        collectives=_list(content.collective),
        sizes=sizes,
        algorithms=_list(content.algorithm),
        models=_list(content.model),
        switchings=_list(content.switching),
        queueings=_list(content.queueing),
        chunks_per_rank=_list(content.chunks),
        roots=_list(content.root),
    )
    if not points:
        raise FormatError(f"{document.where()}: nothing to simulate: every key needs at least one value")
    return points


def _list(value: Value | list[Value]) -> list[Value]:
    return value if isinstance(value, list) else [value]
