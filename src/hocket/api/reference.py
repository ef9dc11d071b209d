"""The reference of all commands and functions (docs/commands.md), made from the requests.

`make docs` writes it
"""

from collections.abc import Iterator
from typing import Any

from hocket.api.fields import Field
from hocket.api.verbs import VERBS, Verb

__all__ = ["reference"]

_HEAD = """# Commands and functions

Every command of `hocket` and the function of the same name in Python, with all their options; `make docs` writes this
page. A command takes flags, a function the names beside them; both make the same request, whose JSON stands in what is
written as `request` (docs/python.md)."""


def reference() -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(line for verb in VERBS.values() for line in _verb(verb))]) + "\n"


def _verb(verb: Verb) -> Iterator[str]:
    request = verb.request()
    yield f"\n## hocket {request.words()}"
    yield f"{verb.summary} `hocket.{verb.function}(...)`, request `hocket.{verb.request_name}`."
    yield "```"
    yield from request.examples
    yield "```"
    yield "| command | Python | value | default | |"
    yield "|---|---|---|---|---|"
    yield from (_row(field) for field in request.fields())


def _row(field: Field) -> str:
    flags = field.metavar or field.name.upper() if field.is_argument else ", ".join(field.flags)
    kind = f"{field.item_type.__name__}, several" if field.is_list else field.type.__name__
    return f"| `{_cell(flags)}` | `{field.name}` | {kind} | {_default(field)} | {_cell(field.help)} |"


def _default(field: Field) -> str:
    if field.required:
        return "required"
    value: Any = field.default
    return "" if value in (None, False, ()) else f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    print(reference(), end="")
