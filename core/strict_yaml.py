"""YAML that is read strictly: one mapping, no duplicate keys, no aliases, typed by msgspec, errors with their line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
import yaml

from hocket.core.errors import FormatError

__all__ = ["Document", "nearest", "read_yaml"]

Struct = TypeVar("Struct", bound=msgspec.Struct)


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, and all of them."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(names)}"


@dataclass
class Document:
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
            message, _, path = str(error).partition(" - at `")
            path = path.rstrip("`") or "$"
            unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL)
            if unknown:
                key = unknown.group(1)
                hint = nearest(key, _keys(struct, path))
                raise FormatError(f"{self.where(f'{path}.{key}')}: unknown key '{key}'; {hint}") from error
            raise FormatError(f"{self.where(path)}: {path.removeprefix('$.')}: {message}") from error


def _keys(struct: type[msgspec.Struct], path: str) -> list[str]:
    """The keys that the struct at a path inside another one knows."""
    info: Any = msgspec.inspect.type_info(struct)
    for key, item in re.findall(r"\.([^.\[]+)|(\[)", path):
        info = info.item_type if item else next(field.type for field in info.fields if field.encode_name == key)
    return [field.encode_name for field in info.fields]


def read_yaml(text: str, source: str) -> Document:
    """Reads one YAML mapping; `source` names it in messages.

    Raises FormatError, naming source and line, for bad syntax, a duplicate key, an alias, or anything but a mapping.
    """
    document = Document(source)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise FormatError(f"{source}: expected a YAML mapping of keys to values")
        document.content = _Reader(loader, document).mapping(node, "$")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FormatError(f"{source}:{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise FormatError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise FormatError(f"{source}: nested too deeply") from error
    return document


class _Loader(yaml.SafeLoader):
    """Refuses aliases, with which a few lines can stand for more than memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            problem = "aliases (*name) are not read: write the value again"
            raise yaml.composer.ComposerError(None, None, problem, self.current_event.start_mark)
        return super().compose_node(parent, index)


class _Reader:
    """Turns a node tree into plain values, noting lines."""

    def __init__(self, loader: _Loader, document: Document) -> None:
        self.loader = loader
        self.document = document

    def value(self, node: yaml.Node, path: str) -> Any:
        self.document.lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        try:
            return self.loader.construct_object(node)
        except ValueError as error:  # PyYAML lets int(), float() and date() speak for themselves
            raise FormatError(f"{self.document.where(path)}: {error}") from error

    def mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        self.document.lines[path] = node.start_mark.line + 1
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise FormatError(f"{self.document.source}:{line}: a key must be a plain word")
            key = key_node.value
            if key in result:
                first = self.document.lines[f"{path}.{key}"]
                raise FormatError(
                    f"{self.document.source}:{line}: key '{key}' was given on line {first} already: keep one"
                )
            result[key] = self.value(value_node, f"{path}.{key}")
            self.document.lines[f"{path}.{key}"] = line
        return result
