"""The command line that makes a request: what a user would type for it."""

from collections.abc import Iterator
from typing import Any

from hocket.api.fields import Field
from hocket.api.request import Request
from hocket.base.text import shell_word

__all__ = ["command_line", "words_of"]


def command_line(request: Request) -> str:
    """`hocket ...`, to be pasted into a shell."""
    return " ".join(map(shell_word, ["hocket", *words_of(request)]))


def words_of(request: Request) -> list[str]:
    """The words behind `hocket` that make the request; what has its default is left out."""
    fields = {name: field for field in request.fields() if (name := field.name) in request.set_fields()}
    options = [field for field in fields.values() if not field.is_argument]
    words = [word for field in options for word in _option(field, request.value_of(field))]
    arguments = [field for field in fields.values() if field.is_argument]
    values = [word for field in arguments for word in _items(field, request.value_of(field))]
    if request.launches:  # behind the first argument everything is another program's
        return [*request.words().split(), *words, *values]
    if any(value.startswith("-") and value != "-" for value in values):  # else it would be read as an option
        return [*request.words().split(), *words, "--", *values]
    return [*request.words().split(), *values, *words]


def _option(field: Field, value: Any) -> Iterator[str]:
    flag = next(each for each in field.flags if each.startswith("--"))
    on, _, off = flag.partition("/")
    if field.item_type is bool:
        yield on if value else off
        return
    for item in _items(field, value):
        yield from (on, item)


def _items(field: Field, value: Any) -> list[str]:
    return [str(item) for item in (value if field.is_list else (value,))]
