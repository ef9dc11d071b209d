"""The YAML file that says what a sweep varies."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from hocket.base.errors import FormatError, HocketError
from hocket.base.files import read_text
from hocket.base.strict_yaml import YamlDocument, nearest, read_yaml
from hocket.base.units import parse_sizes
from hocket.schedule import NAMED_KINDS
from hocket.schedule.algorithms import ALGORITHMS
from hocket.simulator.algorithm_choice import AUTO, SCHEDULE_SUFFIX
from hocket.simulator.models import Model, Queueing, Switching, parse_setting
from hocket.simulator.sweep.grid import grid
from hocket.simulator.sweep.point import Point
from hocket.topology import load

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
    """The points of a sweep file: all combinations of its values.

    Raises FormatError naming file, line and key, also for values that name nothing there is.
    """
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
    _require_known_names(document, content)
    return points


def _require_known_names(document: YamlDocument, content: SweepFile) -> None:
    classes = {"*"}
    for at, text in enumerate(_list(content.topology)):
        try:
            classes.update(load(text).classes)
        except HocketError as error:
            raise FormatError(f"{document.where(f'$.topology[{at}]')}: topology: {error}") from error
    _require_known(document, "collective", content.collective, NAMED_KINDS)
    _require_known(document, "model", content.model, Model)
    native = [text for text in _list(content.algorithm) if not text.endswith(SCHEDULE_SUFFIX)]
    _require_known(document, "algorithm", native, [*ALGORITHMS, AUTO])
    for key, texts, values in (("switching", content.switching, Switching), ("queueing", content.queueing, Queueing)):
        chosen = [parse_setting(text) for text in _list(texts)]
        by_class = [{"*": setting} if isinstance(setting, str) else setting for setting in chosen]
        _require_known(document, key, [name for setting in by_class for name in setting], classes)
        _require_known(document, key, [value for setting in by_class for value in setting.values()], values)


def _require_known(document: YamlDocument, key: str, names: Texts, known: Iterable[str]) -> None:
    for name in _list(names):
        if name not in set(known):
            raise FormatError(f"{document.where(f'$.{key}')}: {key}: '{name}'; {nearest(name, known)}")


def _list(value: Value | list[Value]) -> list[Value]:
    return value if isinstance(value, list) else [value]
