"""The events of a YAML file as plain values, with the line of each."""

from typing import Any

import yaml

from hocket.base.errors import FormatError

__all__ = ["read_mapping"]


def read_mapping(text: str, source: str, lines: dict[str, int]) -> dict[str, Any]:
    """The one mapping of a YAML text; notes the line of each of its parts. Raises FormatError (`strict_yaml`)."""
    try:
        return _Reader(text, source, lines).root()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or error.context or ""
        raise FormatError(f"{source}:{line}: {_TOO_DEEP if 'nesting depth' in problem else problem}") from error
    except yaml.YAMLError as error:
        raise FormatError(f"{source}: not YAML: {' '.join(str(error).split())}") from error


# libyaml reads ten times as fast; PyYAML has it on most platforms.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# No file of ours or others has ten levels; beyond some hundred Python's stack ends, and newer libyaml refuses.
_DEEPEST = 100
_TOO_DEEP = f"nested too deeply, more than {_DEEPEST} levels"


def _line(event: Any) -> int:  # Any: in PyYAML's types an event may lack its mark
    line: int = event.start_mark.line
    return line + 1


class _Reader:
    """Turns parsing events into plain values, noting lines. Aliases, with which a few lines can stand for more than
    memory holds, are refused."""

    def __init__(self, text: str, source: str, lines: dict[str, int]) -> None:
        self.loader = _Loader(text)
        self.source, self.lines = source, lines
        self.depth = 0

    def root(self) -> dict[str, Any]:
        """The mapping that is the one document of the stream."""
        self.loader.get_event()  # the stream starts
        if not self.loader.check_event(yaml.StreamEndEvent):
            self.loader.get_event()  # the document starts
        event = self.loader.get_event()
        if not isinstance(event, yaml.MappingStartEvent):
            raise FormatError(f"{self.source}: expected a YAML mapping of keys to values")
        content: dict[str, Any] = self.value(event, "$")
        self.loader.get_event()  # the document ends
        event = self.loader.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            raise FormatError(f"{self._place(event)}: a second YAML document starts: keep one")
        return content

    def value(self, event: yaml.Event, path: str) -> Any:
        self.lines[path] = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.AliasEvent):
            raise FormatError(f"{self._place(event)}: aliases (*name) are not read: write the value again")
        if self.depth == _DEEPEST:
            raise FormatError(f"{self._place(event)}: {_TOO_DEEP}")
        self.depth += 1
        within = self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)
        self.depth -= 1
        return within

    def sequence(self, path: str) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self.loader.get_event(), yaml.SequenceEndEvent):
            items.append(self.value(event, f"{path}[{len(items)}]"))
        return items

    def scalar(self, event: Any, path: str) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        try:
            return self.loader.construct_object(yaml.ScalarNode(tag, event.value, event.start_mark))
        except ValueError as error:  # PyYAML lets int(), float() and date() speak for themselves
            raise FormatError(f"{self.source}:{self.lines[path]}: {error}") from error

    def mapping(self, path: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := self.loader.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise FormatError(f"{self._place(event)}: a key must be a plain word")
            key, line = event.value, _line(event)
            if key in result:
                first = self.lines[f"{path}.{key}"]
                raise FormatError(f"{self._place(event)}: key '{key}' was given on line {first} already: keep one")
            result[key] = self.value(self.loader.get_event(), f"{path}.{key}")
            self.lines[f"{path}.{key}"] = line
        return result

    def _place(self, event: yaml.Event) -> str:
        return f"{self.source}:{_line(event)}"
