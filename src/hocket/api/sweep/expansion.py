"""Which combinations the file of a sweep asks for: of parameters, all or those that go together, put into its texts; of
points that are listed; and so many of all drawn by chance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from typing import Any, NoReturn, TypeVar

from hocket.api.sweep.arithmetic import evaluate, number_of, plain_number
from hocket.base.errors import FormatError
from hocket.base.splitmix import SplitMix
from hocket.base.strict_yaml import YamlDocument
from hocket.base.units import parse_sizes

__all__ = ["OWN_KEYS", "Drawn", "Part", "draw", "drawn", "parts"]

#: Keys of the file itself; the others are of what is simulated.
OWN_KEYS = ("parameters", "zip", "points", "random", "columns", "plots")
_PLACE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_RANGE = re.compile(r"[0-9]+\.\.[0-9]+(:[0-9]+)?")
_MOST_DRAWN = 2**32

Row = TypeVar("Row")


@dataclass(frozen=True)
class Part:
    """What one combination of parameters asks for: a document without `OWN_KEYS`, and their values."""

    document: YamlDocument
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """So many points drawn by chance, by the generator that `seed` begins."""

    points: int
    seed: int


def parts(document: YamlDocument) -> Iterator[Part]:
    """All combinations in the order of the file. Raises FormatError naming file, line and key."""
    content = document.content
    parameters, together = _values(document, "parameters"), _values(document, "zip")
    lengths = {name: len(values) for name, values in together.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        _refuse(document, "$.zip", f"zip: values that go together are equally many: {told}")
    for name in [*parameters, *together]:
        if name in content or (name in parameters and name in together):
            _refuse(document, f"$.zip.{name}", f"'{name}' has values in two places: keep one")
    rows = list(zip(*together.values(), strict=True)) if together else [()]
    for block in _blocks(document):
        for row in rows:
            for chosen in product(*parameters.values()):
                values = dict(zip(together, row, strict=True)) | dict(zip(parameters, chosen, strict=True))
                yield Part(_filled_document(block, values), values)


def drawn(document: YamlDocument) -> Drawn | None:
    """What the key `random` says. Raises FormatError."""
    said = document.content.get("random")
    if said is None and "random" not in document.content:
        return None
    known = {"points", "seed"}
    if not isinstance(said, dict) or not set(said) <= known or "points" not in said:
        _refuse(document, "$.random", "random: expected {points: N, seed: N}: how many points are drawn, and by which")
    points, seed = said["points"], said.get("seed", 0)
    for name, value, least in (("points", points, 1), ("seed", seed, 0)):
        if type(value) is not int or not least <= value < _MOST_DRAWN:
            _refuse(document, f"$.random.{name}", f"random: {name}: expected a whole number of at least {least}")
    return Drawn(points, seed)


def draw(rows: Sequence[Row], asked: Drawn) -> list[Row]:
    """So many of the rows, each once, in their order; all where there are no more."""
    chance, left = SplitMix(asked.seed), list(range(len(rows)))
    for at in range(min(asked.points, len(left))):  # as a deck of cards is shuffled, from its top
        other = at + chance.below(len(left) - at)
        left[at], left[other] = left[other], left[at]
    return [rows[at] for at in sorted(left[: asked.points])]


def _values(document: YamlDocument, key: str) -> Mapping[str, Sequence[Any]]:
    """The values of each parameter: one, a list, or a range of numbers (`1..64`, `1..64:4`)."""
    said = document.content.get(key, {})
    if not isinstance(said, dict):
        _refuse(document, f"$.{key}", f"{key}: expected names with values, such as {{ratio: [1, 2, 4]}}")
    found: dict[str, Sequence[Any]] = {}
    for name, value in said.items():
        where = f"$.{key}.{name}"
        if not _NAME.fullmatch(str(name)):
            _refuse(document, where, f"{key}: '{name}': expected a name of letters, digits and _")
        values: list[Any] = []
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and _RANGE.fullmatch(each):
                try:
                    values += parse_sizes(each)
                except FormatError as error:
                    _refuse(document, where, f"{name}: {error}")
            elif isinstance(each, str | int) or (isinstance(each, float) and isfinite(each)):
                values.append(each)
            else:
                _refuse(document, where, f"{name}: expected numbers or texts")
        if not values:
            _refuse(document, where, f"{name}: no value: give one or a list")
        found[name] = values
    return found


def _blocks(document: YamlDocument) -> list[YamlDocument]:
    """The documents of the points that are listed, each with what all have in common; without any, the whole."""
    common = {key: value for key, value in document.content.items() if key not in OWN_KEYS}
    if "points" not in document.content:
        return [YamlDocument(document.source, common, document.lines)]
    points = document.content["points"]
    if not isinstance(points, list) or not points:
        _refuse(document, "$.points", "points: expected a list of points, such as - {topology: dgx-h100, size: 1MiB}")
    found = []
    for at, point in enumerate(points):
        where = f"$.points[{at}]"
        if not isinstance(point, dict):
            _refuse(document, where, "points: expected keys with values, such as - {topology: dgx-h100, size: 1MiB}")
        for key in point:
            if key in OWN_KEYS:
                _refuse(document, f"{where}.{key}", f"points: {key} is of the whole sweep: write it there")
        lines = {path: line for path, line in document.lines.items() if not _is_of(path, point)}
        for path, line in document.lines.items():
            if path.startswith((f"{where}.", f"{where}[")):
                lines[f"${path.removeprefix(where)}"] = line
        found.append(YamlDocument(document.source, {**common, **point}, lines))
    return found


def _is_of(path: str, keys: Mapping[str, Any]) -> bool:
    """Whether a path is that of one of the keys, or of a part of it."""
    return re.split(r"[.\[]", path.removeprefix("$."))[0] in keys


def _filled_document(document: YamlDocument, values: Mapping[str, Any]) -> YamlDocument:
    exact = {name: number_of(value) for name, value in values.items()}
    content = {key: _filled(document, value, exact, f"$.{key}") for key, value in document.content.items()}
    return YamlDocument(document.source, content, document.lines)


def _filled(document: YamlDocument, value: Any, values: Mapping[str, Any], where: str) -> Any:
    """The value with what stands in braces in its texts; a text that is nothing else becomes that value."""
    if isinstance(value, list):
        return [_filled(document, each, values, f"{where}[{at}]") for at, each in enumerate(value)]
    if isinstance(value, dict):
        return {key: _filled(document, each, values, f"{where}.{key}") for key, each in value.items()}
    if not isinstance(value, str) or "{" not in value:
        return value
    try:
        if whole := _PLACE.fullmatch(value):
            return _plain(whole[1], values)
        return _PLACE.sub(lambda found: str(_plain(found[1], values)), value)
    except FormatError as error:
        _refuse(document, where, str(error), error)


def _plain(formula: str, values: Mapping[str, Any]) -> object:
    return plain_number(formula, evaluate(formula, values))


def _refuse(document: YamlDocument, where: str, message: str, cause: Exception | None = None) -> NoReturn:
    raise FormatError(f"{document.where(where)}: {message}") from cause
