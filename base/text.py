"""Names as they come from files, made fit to be shown."""

from html import escape

__all__ = ["cell", "markup", "printable"]


def printable(text: str) -> str:
    """The text on one line and without anything that a terminal, a page or a log would obey: line breaks, control
    characters, marks of direction and lone surrogates appear as Python writes them (`\\r`, `\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


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
