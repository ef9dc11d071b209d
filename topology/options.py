"""The `key=value`s of a spec."""

from collections.abc import Iterable

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest

__all__ = ["read_options"]


def read_options(text: str, known: Iterable[str]) -> dict[str, str]:
    """`key=value,key=value`, each of the known keys once. Raises FormatError."""
    options: dict[str, str] = {}
    for part in text.split(",") if text else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise FormatError(f"'{part}' is not key=value; {nearest(key, known)}")
        if key not in known:
            raise FormatError(f"unknown key '{key}'; {nearest(key, known)}")
        if key in options:
            raise FormatError(f"key '{key}' is given twice: keep one")
        options[key] = value
    return options
