"""The fields of requests: what each says in `--help` and in Python's help, and how it is spelled on a command line."""

import re
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from typing import Any

import msgspec

from hocket.api.choices import refused
from hocket.base.errors import RequestError

__all__ = ["Field", "argument", "fields_of", "flag", "in_python", "option", "output", "type_message"]


def option(
    help: str,
    *flags: str,
    metavar: str | None = None,
    ge: float | None = None,
    le: float | None = None,
    positional: bool = False,
    known: str | None = None,
    choices: str | None = None,
    variable: str | None = None,
) -> msgspec.Meta:
    """An option; its flags are `--<name of the field>` unless given (`--json`, `-t`). Python may give it by place.

    `known` says where the names are that it may take among others, `choices` where those are that are all it takes: a
    registry, an enum, names or a function that gives some (`hocket.synthesizer.engines:ENGINES`). Its help lists them.
    `ge` and `le` bound a number, or those of a list. `variable`, of the environment, stands for it on command lines.
    """
    extra = {"flags": flags, "metavar": metavar, "positional": positional, "known": choices or known}
    more = {"closed": choices is not None, "bounds": (ge, le), "variable": variable}
    return msgspec.Meta(description=help, extra=extra | more)


def output(
    help: str, *flags: str, metavar: str = "FILE", positional: bool = False, of_any: bool = False
) -> msgspec.Meta:
    """An option that names what is written; `-` is standard output. Python may give a `positional` one by place.
    `of_any`: it takes the JSON that every result has (`Result.as_json`)."""
    extra = {"flags": flags, "metavar": metavar, "positional": positional}
    return msgspec.Meta(description=help, extra=extra | {"output": True, "of_any": of_any})


def argument(help: str, metavar: str, known: str | None = None, choices: str | None = None) -> msgspec.Meta:
    """A positional argument of the command, and of the function of the same name; the rest as of `option`."""
    extra = {"argument": True, "metavar": metavar, "known": choices or known, "closed": choices is not None}
    return msgspec.Meta(description=help, extra=extra)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request, those of its parts (`Fidelity`, outputs) included: `path` leads to it."""

    name: str
    path: tuple[str, ...]
    type: Any
    default: Any  # msgspec.NODEFAULT: required
    meta: msgspec.Meta | None
    optional: bool  # may be None

    @property
    def required(self) -> bool:
        return self.default is msgspec.NODEFAULT

    @property
    def is_argument(self) -> bool:
        return bool(self._extra.get("argument"))

    @property
    def is_positional(self) -> bool:
        """Whether Python may give it without its name."""
        return self.is_argument or bool(self._extra.get("positional"))

    @property
    def is_output(self) -> bool:
        return bool(self._extra.get("output"))

    @property
    def takes_any_result(self) -> bool:
        """Whether it names a file for the JSON that every result has."""
        return bool(self._extra.get("of_any"))

    @property
    def is_list(self) -> bool:
        return typing.get_origin(self.type) in (list, tuple)

    @property
    def item_type(self) -> Any:
        """The type of the field, or of its items."""
        return typing.get_args(self.type)[0] if self.is_list else self.type

    @property
    def flags(self) -> tuple[str, ...]:
        """`--name` and short ones; `--no-name` too where a switch is on by default."""
        flags = tuple(self._extra.get("flags") or ())
        if not any(each.startswith("--") for each in flags):
            flags = (flag(self.name), *flags)
            if self.default is True:
                flags = (f"{flag(self.name)}/--no-{flag(self.name)[2:]}", *flags[1:])
        return flags

    @property
    def metavar(self) -> str | None:
        return self._extra.get("metavar")

    @property
    def description(self) -> str:
        """Its help without the names that it may take."""
        return (self.meta.description if self.meta else None) or ""

    @property
    def help(self) -> str:
        text = self.description
        if any(bound is not None for bound in self.bounds):
            text += f" A number {self._range}."
        return f"{text} Known: {', '.join(self.known)}." if self.known else text

    @property
    def names_known(self) -> bool:
        """Whether it may take names that are listed somewhere."""
        return bool(self._extra.get("known"))

    @property
    def known(self) -> tuple[str, ...]:
        """Names that it may take; what defines them is imported now."""
        if not self.names_known:
            return ()
        module, _, name = self._extra["known"].partition(":")
        found = getattr(import_module(module), name)
        return tuple(map(str, found if isinstance(found, Iterable) else found()))

    @property
    def is_closed(self) -> bool:
        """Whether it takes nothing but what is known."""
        return bool(self._extra.get("closed"))

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The least and the greatest value of a number, or of the numbers of a list."""
        least, most = self._extra.get("bounds", (None, None))
        return least, most

    @property
    def variable(self) -> str | None:
        return self._extra.get("variable")

    def check(self, value: Any) -> None:
        """Raises RequestError for a value, or an item of it, that is none of the choices, out of bounds, or a text that
        no file can be called."""
        if value in (self.default, None):
            return
        least, most = self.bounds
        asked = self.option
        for each in value if self.is_list else (value,):
            self.check_number(each)
            if isinstance(each, str) and "\0" in each:
                raise RequestError(f"{asked} {each}: expected a text without zero bytes")
            if self.is_closed and each not in self.known:
                raise refused(asked, str(each), self.known)
            if (least is not None and each < least) or (most is not None and each > most):
                raise RequestError(f"{asked} {each}: expected a number {self._range}")

    def check_number(self, value: Any) -> None:
        """Raises RequestError for a number, if it is one, that other readers of JSON do not take."""
        if isinstance(value, float) and not isfinite(value):
            raise RequestError(f"{self.option} {value} is no number that JSON has")
        if isinstance(value, int) and abs(value) >= 2**64:
            raise RequestError(f"{self.option}: expected a number below 2^64")

    @property
    def _range(self) -> str:
        least, most = self.bounds
        return f"of at least {least}" if most is None else f"from {least} to {most}"

    @property
    def option(self) -> str:
        """How it is called on the command line."""
        return self.metavar or self.name if self.is_argument else self.flags[0]

    @property
    def _extra(self) -> dict[str, Any]:
        return (self.meta.extra if self.meta else None) or {}


def flag(name: str) -> str:
    """How a field is spelled on the command line."""
    return "--" + name.replace("_", "-")


def fields_of(struct: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[Field]:
    """All fields of a request in order, those of its parts in the place of the part."""
    hints = typing.get_type_hints(struct, include_extras=True)
    for info in msgspec.structs.fields(struct):
        hint = hints[info.name]
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from fields_of(hint, (*path, info.name))
            continue
        default = info.default_factory() if info.default_factory is not msgspec.NODEFAULT else info.default
        base, meta, optional = _taken_apart(hint)
        yield Field(info.name, (*path, info.name), base, default, meta, optional)


def _taken_apart(hint: Any) -> tuple[Any, msgspec.Meta | None, bool]:
    """A hint without `Annotated` and `| None`, what it was annotated with, and whether it may be None."""
    if typing.get_origin(hint) is typing.Annotated:
        base, *notes = typing.get_args(hint)
        inner, _, optional = _taken_apart(base)
        return inner, next((note for note in notes if isinstance(note, msgspec.Meta)), None), optional
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (base,) = (each for each in typing.get_args(hint) if each is not type(None))
        inner, meta, _ = _taken_apart(base)
        return inner, meta, True
    return hint, None, False


def in_python(message: str, fields: Sequence[Field]) -> str:
    """A message with the names of Python for the flags in it, and an argument at its head: `--compute-scale` becomes
    `compute_scale`. Commands that it shows (`hocket verify FILE --root 0`) stay as they are typed."""
    names = {each: field.name for field in fields for flag in field.flags for each in flag.split("/")}
    for field in fields:
        if field.is_argument and field.metavar and re.match(re.escape(field.metavar) + "[ :]", message):
            message = field.name + message.removeprefix(field.metavar)

    def named(found: re.Match[str]) -> str:
        return "/".join(dict.fromkeys(names.get(each, each) for each in found.group().split("/")))

    command, flags = r"\bhocket [a-z][^;,()]*", r"(?<![\w-])--?[a-z][a-z-]*(?:/--?[a-z][a-z-]*)*"
    return re.sub(f"{command}|{flags}", lambda found: found[0] if found[0][0] == "h" else named(found), message)


#: What values are called in Python, by what msgspec calls them.
_IN_PYTHON = {"str": "text", "array": "list", "object": "dict", "null": "None"}


def type_message(message: str, fields: Iterable[Field]) -> str:
    """What msgspec says of a wrong type in Python's words, and of the field without the parts that lead to it:
    `job.placement: Expected `str | null`, got `array`` becomes `placement: expected text or None, got list`."""
    for field in fields:
        path = ".".join(field.path)
        if re.match(re.escape(path) + r"[:\[]", message):
            message = field.name + message.removeprefix(path)
            break
    found = re.match(r"(.*?)Expected `([^`]*)`, got `([^`]*)`(.*)", message, re.DOTALL)
    if found is None:
        return message
    expected, got = (
        " or ".join(_IN_PYTHON.get(each, each) for each in words.split(" | ")) for words in (found[2], found[3])
    )
    return f"{found[1]}expected {expected}, got {got}{found[4]}"
