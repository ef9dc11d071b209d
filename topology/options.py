"""The `key=value`s of a spec."""

import re
from collections.abc import Iterable

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest

__all__ = ["read_flag", "read_number", "read_options"]


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


def read_number(key: str, value: str) -> int:
    """A whole number of at most six digits. Raises FormatError."""
    if not re.fullmatch(r"[0-9]{1,6}", value):
        raise FormatError(f"{key}={value}: expected a whole number, as in {key}=4")
    return int(value)


def read_flag(key: str, text: str) -> bool:
    """Whether switches compute. Raises FormatError."""
    if text not in ("0", "1"):
        raise FormatError(f"{key}={text}: expected 1 where switches compute in the network, 0 where not")
    return text == "1"
