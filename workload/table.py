"""Networks as tables, in CSV (`forward.time`, a row a layer) or YAML (`layers:`, a mapping a layer).

Of each layer: `name`; the passes `forward`, `input_gradient` and `weight_gradient`, each with `time`, or `flops` and
`memory` (bytes moved), and with `comm` (all_reduce, ...), `bytes` and `group` (model, data, all); `update` with the
first three; `needed_by`. Everything but the name may be absent.
"""

import csv
import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hocket.base.errors import FormatError, HocketError
from hocket.base.files import atomic_write
from hocket.base.reading import read_text
from hocket.base.strict_yaml import YamlDocument, nearest, read_yaml
from hocket.base.units import exact_time, parse_bytes
from hocket.chakra.trace import CollectiveType
from hocket.workload.network import Layer, Network, Pass, Scope
from hocket.workload.parsing import parse_nanoseconds

__all__ = ["KINDS", "read_table", "write_table"]

KINDS = {
    kind.name.lower(): kind
    for kind in (
        CollectiveType.ALL_REDUCE,
        CollectiveType.ALL_GATHER,
        CollectiveType.REDUCE_SCATTER,
        CollectiveType.ALL_TO_ALL,
    )
}
_SCOPES = {"forward": Scope.MODEL, "input_gradient": Scope.MODEL, "weight_gradient": Scope.DATA}
_MOST = 2**62
_PICOSECONDS = 1000
_Value = TypeVar("_Value")
_Number = int | float | str


class _Work(msgspec.Struct, forbid_unknown_fields=True):
    time: str | None = None
    flops: _Number = 0
    memory: _Number = 0


class _Pass(_Work, forbid_unknown_fields=True):
    comm: str = "none"
    bytes: _Number = 0
    group: str | None = None


class _Layer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    forward: _Pass = msgspec.field(default_factory=_Pass)
    input_gradient: _Pass = msgspec.field(default_factory=_Pass)
    weight_gradient: _Pass = msgspec.field(default_factory=_Pass)
    update: _Work = msgspec.field(default_factory=_Work)
    needed_by: str = ""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    layers: list[_Layer]


def read_table(path: Path | str) -> Network:
    """The network of a table: YAML when the file is called so, else CSV. Raises FormatError, naming file and line."""
    text = read_text(path)
    is_yaml = Path(path).suffix.lower() in (".yaml", ".yml")
    document = read_yaml(text, str(path)) if is_yaml else _csv_document(text, str(path))
    table = document.convert(_Table)
    layers = tuple(_layer(document, f"$.layers[{at}]", row) for at, row in enumerate(table.layers))
    try:
        return Network(layers)
    except HocketError as error:
        raise FormatError(f"{path}: {error}") from error


def _csv_document(text: str, source: str) -> YamlDocument:
    """The mapping that a YAML file would hold: a column `forward.time` is key `time` of key `forward`."""
    document = YamlDocument(source, {"layers": []}, {"$": 1})
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        if len(set(header)) != len(header):
            raise FormatError(f"{source}:1: a column occurs twice")
        for cells in reader:
            if any(cells):
                document.lines[f"$.layers[{len(document.content['layers'])}]"] = reader.line_num
                document.content["layers"].append(_csv_row(header, cells, f"{source}:{reader.line_num}"))
    except csv.Error as error:
        raise FormatError(f"{source}:{reader.line_num}: {error}") from error
    return document


def _csv_row(header: list[str], cells: list[str], place: str) -> dict[str, Any]:
    if len(cells) != len(header):
        raise FormatError(f"{place}: {len(cells)} cells, but the first line names {len(header)} columns")
    row: dict[str, Any] = {}
    for column, cell in zip(header, cells, strict=True):
        if cell.strip():
            outer, dot, inner = column.partition(".")
            keys = row.setdefault(outer, {}) if dot else row
            if not isinstance(keys, dict):
                raise FormatError(f"{place}: column '{outer}' and column '{column}' exclude each other")
            keys[inner if dot else outer] = cell.strip()
    return row


def _layer(document: YamlDocument, path: str, row: _Layer) -> Layer:
    if not row.name:
        raise FormatError(f"{document.where(path)}: a layer needs a name")
    passes = {name: _pass(document, f"{path}.{name}", getattr(row, name), scope) for name, scope in _SCOPES.items()}
    return Layer(
        row.name, **passes, update=Pass(**_work(document, f"{path}.update", row.update)), needed_by=row.needed_by
    )


def _pass(document: YamlDocument, path: str, row: _Pass, scope: Scope) -> Pass:
    work = _work(document, path, row)
    if row.comm == "none":
        if row.bytes not in (0, "0") or row.group is not None:
            raise FormatError(f"{document.where(path)}: bytes or group of a pass without comm: say which collective")
        return Pass(**work)
    return Pass(
        **work,
        kind=_at(document, f"{path}.comm", _known(KINDS), row.comm),
        comm_bytes=_at(document, f"{path}.bytes", _whole_bytes, row.bytes),
        scope=scope
        if row.group is None
        else _at(document, f"{path}.group", _known(dict(Scope.__members__)), row.group),
    )


def _work(document: YamlDocument, path: str, row: _Work) -> dict[str, Any]:
    num_ops = _at(document, f"{path}.flops", _whole_number, row.flops)
    memory_bytes = _at(document, f"{path}.memory", _whole_bytes, row.memory)
    if row.time is None:
        return {"num_ops": num_ops, "memory_bytes": memory_bytes}
    if num_ops or memory_bytes:
        raise FormatError(f"{document.where(path)}: give a time, or flops and memory, not both")
    return {"duration_ns": _at(document, f"{path}.time", parse_nanoseconds, row.time)}


def _at(document: YamlDocument, path: str, parse: Callable[[Any], _Value], value: object) -> _Value:
    """What `parse` makes of the value; its errors with their place."""
    try:
        return parse(value)
    except FormatError as error:
        raise FormatError(f"{document.where(path)}: {path.partition('].')[2]}: {error}") from error


def _known(values: dict[str, _Value]) -> Callable[[str], _Value]:
    by_name = {name.lower(): value for name, value in values.items()}

    def find(name: str) -> _Value:
        if name not in by_name:
            raise FormatError(f"'{name}' is not known; {nearest(name, by_name)}")
        return by_name[name]

    return find


def _whole_number(value: _Number) -> int:
    """A count such as 3.8e9."""
    try:
        number = Fraction(value if len(str(value)) <= 40 else "")
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise FormatError(f"'{value}' is not a number such as 3.8e9") from error
    if number.denominator != 1 or not 0 <= number < _MOST:
        raise FormatError(f"'{value}' is not a whole number from 0 to 2^62")
    return int(number)


def _whole_bytes(value: _Number) -> int:
    return parse_bytes(value) if isinstance(value, str) else _whole_number(value)


def write_table(path: Path | str, network: Network) -> None:
    """Writes the network as CSV: `read_table` reads the same layers back."""
    rows = [_csv_cells(layer) for layer in network.layers]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with atomic_write(path) as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _csv_cells(layer: Layer) -> dict[str, object]:
    cells: dict[str, object] = {"name": layer.name}
    for name, step in zip((*_SCOPES, "update"), layer.passes, strict=True):
        if step.duration_ns is not None:
            cells[f"{name}.time"] = exact_time(step.duration_ns * _PICOSECONDS)
        elif step.computes:
            cells |= {f"{name}.flops": step.num_ops, f"{name}.memory": step.memory_bytes}
        if step.kind is not None:
            cells |= {f"{name}.comm": step.kind.name.lower(), f"{name}.bytes": step.comm_bytes}
            cells[f"{name}.group"] = step.scope.value
    if layer.needed_by:
        cells["needed_by"] = layer.needed_by
    return cells
