"""YAML that is read strictly: one mapping, no duplicate keys, no aliases, typed by msgspec, errors with their line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
import yaml

from hocket.base.errors import FormatError

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
    try:
        document.content = _Reader(text, document).root()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FormatError(f"{source}:{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise FormatError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise FormatError(f"{source}: nested too deeply") from error
    return document


# libyaml reads ten times as fast; PyYAML has it on most platforms.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line(event: Any) -> int:  # Any: in PyYAML's types an event may lack its mark
    line: int = event.start_mark.line
    return line + 1


class _Reader:
    """Turns parsing events into plain values, noting lines. Aliases, with which a few lines can stand for more than
    memory holds, are refused."""

    def __init__(self, text: str, document: YamlDocument) -> None:
        self.loader = _Loader(text)
        self.document = document

    def root(self) -> dict[str, Any]:
        """The mapping that is the one document of the stream."""
        self.loader.get_event()  # the stream starts
        if not self.loader.check_event(yaml.StreamEndEvent):
            self.loader.get_event()  # the document starts
        event = self.loader.get_event()
        if not isinstance(event, yaml.MappingStartEvent):
            raise FormatError(f"{self.document.source}: expected a YAML mapping of keys to values")
        content: dict[str, Any] = self.value(event, "$")
        self.loader.get_event()  # the document ends
        event = self.loader.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            raise FormatError(f"{self._place(event)}: a second YAML document starts: keep one")
        return content

    def value(self, event: yaml.Event, path: str) -> Any:
        self.document.lines[path] = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := self.loader.get_event(), yaml.SequenceEndEvent):
                items.append(self.value(event, f"{path}[{len(items)}]"))
            return items
        raise FormatError(f"{self._place(event)}: aliases (*name) are not read: write the value again")

    def scalar(self, event: Any, path: str) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        try:
            return self.loader.construct_object(yaml.ScalarNode(tag, event.value, event.start_mark))
        except ValueError as error:  # PyYAML lets int(), float() and date() speak for themselves
            raise FormatError(f"{self.document.where(path)}: {error}") from error

    def mapping(self, path: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := self.loader.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise FormatError(f"{self._place(event)}: a key must be a plain word")
            key, line = event.value, _line(event)
            if key in result:
                first = self.document.lines[f"{path}.{key}"]
                raise FormatError(f"{self._place(event)}: key '{key}' was given on line {first} already: keep one")
            result[key] = self.value(self.loader.get_event(), f"{path}.{key}")
            self.document.lines[f"{path}.{key}"] = line
        return result

    def _place(self, event: yaml.Event) -> str:
        return f"{self.document.source}:{_line(event)}"
