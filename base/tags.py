"""Tags of the small XML files that other tools write: no text between elements, attributes in double quotes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hocket.base.errors import FormatError

__all__ = ["Element", "Tag", "read_element", "tags"]

_TAG = re.compile(r'<(/?)([A-Za-z_]\w*)((?:\s+\w+="[^"<>]*")*)\s*(/?)>')
_BLANK = re.compile(r"(?:\s+|<!--.*?-->)*", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_DEEPEST = 64


class Tag(NamedTuple):
    """`<name ...>` opens an element, `</name>` closes it, `<name .../>` does both."""

    line: int
    closes: bool
    name: str
    attributes: dict[str, str]
    opens: bool


class Element(NamedTuple):
    """An element, the line of its opening tag, and the elements in it, in their order."""

    line: int
    name: str
    attributes: dict[str, str]
    children: list["Element"]


def tags(text: str, source: str) -> Iterator[Tag]:
    """The tags in their order. Raises FormatError, naming `source` and the line, at what is no tag and at an attribute
    that an element has twice."""
    position = _skip(text, 0)
    line, counted = 1, 0
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        tag = _TAG.match(text, position)
        if tag is None:
            raise FormatError(f'{source}:{line}: expected an element <name key="value" ...>')
        pairs = _ATTRIBUTE.findall(tag[3])
        attributes = dict(pairs)
        if len(attributes) < len(pairs):
            raise FormatError(f"{source}:{line}: <{tag[2]}> has an attribute twice: keep one")
        yield Tag(line, bool(tag[1] or tag[4]), tag[2], attributes, not tag[1])
        position = _skip(text, tag.end())


def read_element(text: str, source: str) -> Element:
    """The one outermost element of a text. Raises FormatError, naming `source` and the line, at what is no tag, is not
    closed, is closed by another name, or comes after it."""
    root: Element | None = None
    within: list[Element] = []
    for tag in tags(text, source):
        where = f"{source}:{tag.line}: <{'' if tag.opens else '/'}{tag.name}>"
        if tag.opens:
            element = Element(tag.line, tag.name, tag.attributes, [])
            if within:
                within[-1].children.append(element)
            elif root is None:
                root = element
            else:
                raise FormatError(f"{where} comes after the end of <{root.name}>: remove it")
            if len(within) == _DEEPEST:
                raise FormatError(f"{where} is nested deeper than {_DEEPEST} elements")
            within.append(element)
        if tag.closes:
            if not within or within[-1].name != tag.name:
                expected = f"</{within[-1].name}> of line {within[-1].line}" if within else "no closing tag"
                raise FormatError(f"{where} closes what is not open: expected {expected}")
            within.pop()
    if root is None:
        raise FormatError(f"{source}: no element in it")
    if within:
        raise FormatError(f"{source}:{within[-1].line}: <{within[-1].name}> is not closed; is the file cut off?")
    return root


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()
