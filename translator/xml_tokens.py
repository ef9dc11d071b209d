"""The tokenizer of MSCCL XML: NCCL's hand-written dialect, narrower than XML (docs/translator.md#msccl-xml)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from hocket.core.errors import FormatError

__all__ = ["Element", "elements", "fail"]

_BLANK = re.compile(r"(?:[ \n\r]+|<!--.*?-->)*", re.DOTALL)
_NAME = r"[A-Za-z_][\w.:-]*"
_TAG = re.compile(rf'<(?:({_NAME})((?: +{_NAME}="[^"\n\r]*")*)( *)(/?)|/({_NAME}))>')
_ATTRIBUTE = re.compile(r'( +)([^ =]+)="([^"]*)"')
_MAX_ATTRIBUTES = 16
_MAX_VALUE = 255

# What people write because XML allows it and NCCL's tokenizer does not, in the order to look for it.
_FOREIGN = [
    (re.compile("\ufeff"), "a byte-order mark; save the file without one"),
    (re.compile(r"<\?"), "an XML declaration; remove it"),
    (re.compile(r"<!"), "a DOCTYPE, CDATA or unterminated comment; remove it"),
    (re.compile(r"\t"), "a TAB; use spaces"),
    (re.compile(r"<[^>]*'"), "single quotes; write attribute values in double quotes"),
    (re.compile(r"<[^>]*[\n\r\t]"), "a line break or TAB inside an element; write one element per line"),
    (re.compile(r"[^<]"), "text outside the elements; remove it"),
]


@dataclass(slots=True)
class Element:
    """An element with the elements inside it; `start` is its first character in the text."""

    name: str
    attributes: dict[str, str]
    children: list["Element"]
    start: int


def fail(text: str, source: str, start: int, message: str) -> NoReturn:
    """Raises FormatError naming `source` and the line of character `start`."""
    raise FormatError(f"{source}:{text.count(chr(10), 0, start) + 1}: {message}")


def _attributes(text: str, source: str, tag: re.Match[str]) -> dict[str, str]:
    inside = tag[2]
    found = _ATTRIBUTE.findall(inside)
    attributes = {key: value for _, key, value in found}
    if len(attributes) < len(found):
        fail(text, source, tag.start(), f"<{tag[1]}> has an attribute twice; keep one")
    if inside.count(" ") > _MAX_ATTRIBUTES:
        # NCCL gives every space a slot, so a doubled space costs one of the 16; what comes after them vanishes
        slots = sum(len(spaces) for spaces, _, _ in found)
        if slots > _MAX_ATTRIBUTES:
            message = (
                f"<{tag[1]}> has {slots} attributes and extra spaces; the runtimes drop all after {_MAX_ATTRIBUTES}"
            )
            fail(text, source, tag.start(), message)
    if len(inside) > _MAX_VALUE:
        for key, value in attributes.items():
            if len(value) > _MAX_VALUE:
                message = f"<{tag[1]}> {key}: {len(value)} characters overflow the runtimes' buffer of {_MAX_VALUE}"
                fail(text, source, tag.start(), message)
    return attributes


def _tags(text: str, source: str) -> Iterator[re.Match[str]]:
    position = _blank_end(text, 0)
    while position < len(text):
        match = _TAG.match(text, position)
        if match is None:
            reason = next((reason for pattern, reason in _FOREIGN if pattern.match(text, position)), "a broken one")
            fail(text, source, position, f'expected an element <name key="value" ...>, found {reason}')
        yield match
        position = _blank_end(text, match.end())


def _blank_end(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def elements(text: str, source: str) -> list[Element]:
    """The text's top-level elements with everything inside them. Raises FormatError naming the line."""
    top: list[Element] = []
    open_elements: list[Element] = []
    for tag in _tags(text, source):
        name, closing = tag[1], tag[5]
        if name is not None:
            element = Element(name, _attributes(text, source, tag), [], tag.start())
            (open_elements[-1].children if open_elements else top).append(element)
            if not tag[4]:
                open_elements.append(element)
        elif not open_elements or open_elements[-1].name != closing:
            expected = f"</{open_elements[-1].name}>" if open_elements else "no closing element"
            fail(text, source, tag.start(), f"found </{closing}> where {expected} was expected")
        else:
            open_elements.pop()
    if open_elements:
        name = open_elements[-1].name
        fail(text, source, open_elements[-1].start, f"<{name}> is never closed; is the file cut short?")
    return top
