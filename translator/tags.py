"""Tags of the small XML files that other tools write: no text between elements, attributes in double quotes."""

import re
from collections.abc import Iterator

from hocket.core.errors import FormatError

__all__ = ["tags"]

_TAG = re.compile(r'<(/?)([A-Za-z_]\w*)((?:\s+\w+="[^"<>]*")*)\s*/?>')
_BLANK = re.compile(r"(?:\s+|<!--.*?-->)*", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def tags(text: str, source: str) -> Iterator[tuple[int, bool, str, dict[str, str]]]:
    """Line, whether it closes, name and attributes of each element's tag. Raises FormatError, naming `source` and the
    line, at what is no tag."""
    position = _skip(text, 0)
    line, counted = 1, 0
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        tag = _TAG.match(text, position)
        if tag is None:
            raise FormatError(f'{source}:{line}: expected an element <name key="value" ...>')
        yield line, bool(tag[1]), tag[2], dict(_ATTRIBUTE.findall(tag[3]))
        position = _skip(text, tag.end())


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()
