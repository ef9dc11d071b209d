"""Values of command lines that need no validator: texts, whole numbers, and what nobody gave."""

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from hocket.api.fields import Field

__all__ = ["kind_of", "with_plain_values"]

_WHOLE = re.compile(r"-?[0-9]{1,18}")


def kind_of(field: Field) -> Any:
    """What a value of the field, or an item of it, is on a command line."""
    names_files = field.metavar in ("FILE", "DIR", "FOLDER")
    return Path if field.item_type is str and names_files and not field.is_list else field.item_type


def with_plain_values(parameters: list[Any], fields: Iterable[Field] = ()) -> list[Any]:
    """Parameters of a command, which take plain values by themselves. All others, and what is wrong, are typer's, which
    makes a validator of pydantic for each parameter: that takes longer than a small simulation."""
    known = {field.name: field for field in fields}
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            parameter.process_value = partial(_processed, known.get(parameter.name), parameter)
    return parameters


def _processed(field: Field | None, parameter: Any, context: Any, value: Any) -> Any:
    if value is None and not parameter.required:
        return () if field and field.is_list else None
    if field:
        items, kind = value if field.is_list else [value], kind_of(field)
        if isinstance(items, list | tuple) and all(_is_plain(item, kind) for item in items):
            plain = [kind(item) for item in items]
            return plain if field.is_list else plain[0]
    return type(parameter).process_value(parameter, context, value)


def _is_plain(item: object, kind: Any) -> bool:
    if isinstance(item, str):
        return kind in (str, Path) or (kind is int and _WHOLE.fullmatch(item) is not None)
    return kind in (bool, int, float) and type(item) is kind
