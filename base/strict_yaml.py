"""YAML that is read strictly: one mapping, no duplicate keys, no aliases, typed by msgspec, errors with their line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.base.yaml_events import read_mapping

__all__ = ["YamlDocument", "nearest", "read_yaml", "validation_message"]

Struct = TypeVar("Struct", bound=msgspec.Struct)


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one (`native:ring` for `ring`), and all of them."""
    names = sorted(known)
    said = word.lower()
    close = [name for name in names if said in (name.lower(), name.lower().rpartition(":")[2])]
    close = close or get_close_matches(word, names, n=1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(names)}"


@dataclass
class YamlDocument:
    """A YAML mapping, and the line of each of its parts by msgspec's path (`$.links[3].from`)."""

    source: str
    content: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def where(self, path: str = "$") -> str:
        """`file:line` of a part; of what surrounds it where the file has no such part."""
        while path not in self.lines:
            path = path[:-1]
        return f"{self.source}:{self.lines[path]}"

    def convert(self, struct: type[Struct]) -> Struct:
        """The content as a msgspec Struct. Raises FormatError that names file, line and key."""
        try:
            return msgspec.convert(self.content, struct)
        except msgspec.ValidationError as error:
            path, message = _taken_apart(error, struct)
            raise FormatError(f"{self.where(path)}: {message}") from error


def validation_message(error: msgspec.ValidationError, struct: type[msgspec.Struct]) -> str:
    """What is wrong with which field of a struct; unknown ones with the nearest known."""
    return _taken_apart(error, struct)[1]


def _taken_apart(error: msgspec.ValidationError, struct: type[msgspec.Struct]) -> tuple[str, str]:
    """The path of the part that is wrong, and what is wrong with it."""
    message, _, path = str(error).partition(" - at `")
    path = path.rstrip("`") or "$"
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL)
    if unknown:
        key = unknown.group(1)
        return f"{path}.{key}", f"unknown key '{key}'; {nearest(key, _keys(struct, path))}"
    return path, f"{path.removeprefix('$.')}: {message}"


def _keys(struct: type[msgspec.Struct], path: str) -> list[str]:
    """The keys that the struct at a path inside another one knows."""
    info: Any = msgspec.inspect.type_info(struct)
    for key, item in re.findall(r"\.([^.\[]+)|(\[)", path):
        info = info.item_type if item else next(field.type for field in info.fields if field.encode_name == key)
        if isinstance(info, msgspec.inspect.UnionType):  # a part that may be left out
            info = next(each for each in info.types if not isinstance(each, msgspec.inspect.NoneType))
    return [field.encode_name for field in info.fields]


def read_yaml(text: str, source: str) -> YamlDocument:
    """Reads one YAML mapping; `source` names it in messages.

    Raises FormatError, naming source and line, for bad syntax, a duplicate key, an alias, or anything but a mapping.
    """
    document = YamlDocument(source)
    document.content = read_mapping(text, source, document.lines)
    return document
