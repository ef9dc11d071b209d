"""Names as they come from files, made fit to be shown."""

import os
import shlex
from collections.abc import Iterable
from html import escape

__all__ = ["cell", "clipped", "markup", "printable", "printable_lines", "shell_word"]


def clipped(text: str, most: int = 400) -> str:
    """The text, or its beginning where it is longer than anybody reads: names come from files of any size, and a column
    of texts is as wide as the longest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """The text on one line and without anything that a terminal, a page or a log would obey: line breaks, control
    characters, marks of direction and lone surrogates appear as Python writes them (`\\r`, `\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(lines: Iterable[str]) -> str:
    """The lines as one text: what a name in them holds neither ends its line nor begins another."""
    return "\n".join(map(printable, lines))


def shell_word(text: str) -> str:
    """The text as a word of a shell's command line, printable: bash reads `$'\\x1b'` as it was."""
    if text.isprintable():
        return shlex.quote(text)
    parts = (
        char if char.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
        for char in text.replace("\\", "\\\\").replace("'", "\\'")
    )
    return f"$'{''.join(parts)}'"


def cell(value: object) -> object:
    """The value for a cell of CSV: a text is printable, and one that a spreadsheet would take for a formula (it begins
    with =, +, - or @) begins with ' instead. Numbers stay as they are."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def markup(text: str) -> str:
    """The text for HTML, SVG and XML, quotes included; it keeps its own line breaks."""
    return escape("\n".join(map(printable, text.split("\n"))))
