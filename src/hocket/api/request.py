"""What a request is: frozen, typed, the same from Python, from the command line and from JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import msgspec

from hocket.api.fields import Field, fields_of, in_python, type_message
from hocket.api.progress import SILENT, Progress
from hocket.base.collectives import called_among
from hocket.base.errors import FormatError, HocketError, RequestError, placed
from hocket.base.files import together, write_json
from hocket.base.standard_output import is_standard_output
from hocket.base.strict_yaml import nearest, validation_message

__all__ = ["Part", "Request"]

Asked = TypeVar("Asked", bound="Request")


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fields that several requests share, or that belong together: flat on the command line and in Python."""


class Request(Part, frozen=True, kw_only=True, tag_field="verb"):
    """A question or an order: plain values only, so that it is a row of a sweep and the provenance of its result.

    A subclass's `tag` is the words of its command (`nccl choose`); what performs it, `perform(request, progress)`, is
    in the module `perform` beside it unless `performer` names another (`module:function`), imported only then: reading
    a request stays quick. `examples` are what `--help` shows, a line each, to be pasted.
    """

    examples: ClassVar[tuple[str, ...]] = ()
    performer: ClassVar[str] = ""
    #: Whether what it writes is there as it goes, to be read meanwhile or gone on with after an end in between; else
    #: all its files appear together when all is well, or none does.
    writes_in_steps: ClassVar[bool] = False
    #: Whether its arguments are a command line of somebody else's: what is behind the first is all theirs.
    launches: ClassVar[bool] = False

    @classmethod
    def words(cls) -> str:
        """The words of the command."""
        return str(cls.__struct_config__.tag)

    @classmethod
    @cache
    def fields(cls) -> tuple[Field, ...]:
        """All fields, those of its parts included."""
        return tuple(fields_of(cls))

    @classmethod
    def of(cls: type[Asked], *positional: Any, **options: Any) -> Asked:
        """The request of these values, by name whichever part they belong to: paths, numbers and single values stand
        for texts and lists. Raises RequestError that names what is wrong and what there is."""
        fields = cls.fields()
        arguments = [field.name for field in fields if field.is_positional]
        for name, value in zip(arguments, positional, strict=False):
            if name in options:
                raise RequestError(f"{cls.words()}: {name} is given twice")
            options[name] = value
        if len(positional) > len(arguments):
            raise RequestError(
                f"{cls.words()} takes {len(arguments)} positional values ({', '.join(arguments)}),"
                f" got {len(positional)}: name the others"
            )
        known = {field.name: field for field in fields}
        tree: dict[str, Any] = {}
        for name, value in options.items():
            if name not in known:
                raise RequestError(f"{cls.words()} has no option '{name}'; {nearest(name, known)}")
            if value is None:
                continue
            *parts, last = known[name].path
            branch = tree
            for part in parts:
                branch = branch.setdefault(part, {})
            branch[last] = _plain(value, known[name])
        for field in fields:
            if field.required and options.get(field.name) is None:
                raise RequestError(f"{cls.words()}: {field.name} is missing: {field.help}")
        return cls._checked(tree, f"{cls.words()}: ")

    @classmethod
    def from_plain(cls: type[Asked], content: Mapping[str, Any], source: str) -> Asked:
        """The request of plain values, as in its JSON. Raises RequestError that names the source and the field."""
        try:
            return cls._checked(dict(content))
        except RequestError as error:
            raise placed(source, error) from None

    @classmethod
    def _checked(cls: type[Asked], content: dict[str, Any], place: str = "") -> Asked:
        try:
            request = msgspec.convert(content, cls)
        except msgspec.ValidationError as error:
            message = type_message(validation_message(error, cls), cls.fields())
            raise RequestError(f"{place}{message}") from None
        except UnicodeEncodeError as error:
            raise RequestError(f"{place}{error.object!a} is no text of Unicode") from None
        for field in cls.fields():
            field.check(request.value_of(field))
        _require_own_names((field, request.value_of(field)) for field in cls.fields() if field.is_output)
        return request

    @classmethod
    def from_json(cls: type[Asked], text: str | bytes, source: str = "request") -> Asked:
        """The request that `to_json` wrote. Raises FormatError for what is no JSON and RequestError for unknown fields
        and wrong types, naming the source."""
        try:
            content = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError(f"{source}: not JSON: {error}") from error
        if not isinstance(content, dict) or content.get("verb", cls.words()) != cls.words():
            raise FormatError(f'{source}: expected a request {{"verb": "{cls.words()}", ...}}')
        return cls.from_plain(content, source)

    def to_plain(self) -> dict[str, Any]:
        """The request as plain values, `verb` first; what has its default is left out."""
        return _without_empty(msgspec.to_builtins(self))

    def to_json(self) -> str:
        """One line of JSON, which `from_json` reads."""
        return json.dumps(self.to_plain(), separators=(",", ":"))

    def perform(self, progress: Progress = SILENT) -> Any:
        """Does what is asked for. Raises HocketError."""
        self._check()
        for line in self._jobs_meant():
            progress.note(line)
        module, function = self.performed_by()
        perform = getattr(import_module(module), function)
        try:
            with nullcontext() if self.writes_in_steps else together():
                result = perform(self, progress)
                for field in self.fields():
                    if field.takes_any_result and (path := self.value_of(field)):
                        write_json(path, result.as_json())
                return result
        except BrokenPipeError:
            raise
        except OSError as error:
            where = self.words() if error.filename is None else os.fsdecode(error.filename)
            raise HocketError(f"{where}: {error.strerror or error}") from error

    def _jobs_meant(self) -> Iterator[str]:
        """Which job is read where an argument is a folder of jobs, a line each."""
        for field in self.fields():
            value = self.value_of(field) if field.is_positional else None
            for path in value if isinstance(value, tuple) else (value,):
                if isinstance(path, str) and os.path.isdir(path):
                    from hocket.chakra.job_folders import find_job

                    if note := find_job(path).note:
                        yield note

    def _check(self) -> None:
        """Raises RequestError for what the constructor took and `of` would not."""
        try:
            self._checked(msgspec.to_builtins(self), f"{self.words()}: ")
        except TypeError as error:
            raise RequestError(f"{self.words()}: {error}") from error

    @classmethod
    def performed_by(cls) -> tuple[str, str]:
        """The module, and the function in it, that performs such requests."""
        module, _, function = cls.performer.partition(":")
        return module or cls.__module__.rpartition(".")[0] + ".perform", function or "perform"

    @classmethod
    def ask(cls, *positional: Any, **options: Any) -> Any:
        """`of(...)` and `perform()` at once, with messages that name fields as Python does."""
        with cls.spoken_in_python():
            return cls.of(*positional, **options).perform()

    @classmethod
    @contextmanager
    def spoken_in_python(cls) -> Iterator[None]:
        """Messages from inside name fields as Python does."""
        try:
            yield
        except HocketError as error:
            error.args = tuple(in_python(str(line), cls.fields()) for line in error.args)
            raise

    def __repr__(self) -> str:
        """A call that makes an equal one."""
        return (
            f"{type(self).__name__}.of({', '.join(f'{name}={value!r}' for name, value in self.set_fields().items())})"
        )

    def set_fields(self) -> dict[str, Any]:
        """The fields that differ from their defaults, by name."""
        values = zip(self.fields(), self._values()(self), strict=True)
        return {field.name: value for field, value in values if value is not field.default and value != field.default}

    def value_of(self, field: Field) -> Any:
        """What one of the `fields` has."""
        return attrgetter(".".join(field.path))(self)

    @classmethod
    @cache
    def _values(cls) -> Callable[[Any], tuple[Any, ...]]:
        """What takes the values of all `fields` out of a request, at once: sweeps ask it of every row."""
        # Two more, or it would take none, or a single one that is no tuple.
        take = attrgetter("__class__", "__class__", *(".".join(field.path) for field in cls.fields()))
        return lambda request: take(request)[2:]

    def take_only(self, taken: Container[str], why: str) -> None:
        """Refuses fields that were given and are not among those taken, which would do nothing: a RequestError that
        begins with `why` and names them. The JSON that every result has is always taken."""
        idle = [
            field.name
            for field in self.fields()
            if field.name in self.set_fields() and field.name not in taken and not field.takes_any_result
        ]
        if idle:
            flags = {field.name: "/".join(field.flags) for field in self.fields()}
            raise RequestError(f"{why}: drop {', '.join(flags[name] for name in idle)}")


def _require_own_names(outputs: Iterable[tuple[Field, str | bool | None]]) -> None:
    """Raises RequestError where two outputs would go to one place."""
    taken: dict[str, Field] = {}
    for field, path in outputs:
        if not isinstance(path, str):
            continue
        try:
            place = "-" if is_standard_output(path) else os.path.realpath(path)
        except ValueError as error:
            raise RequestError(f"{field.option} {path!a} is no name of a file") from error
        if place != os.devnull and (first := taken.setdefault(place, field)) is not field:
            raise RequestError(f"{first.option} and {field.option} are both {path}: give each its own")


def _without_empty(plain: dict[str, Any]) -> dict[str, Any]:
    """Without parts of which nothing is given."""
    inside = {name: _without_empty(value) if isinstance(value, dict) else value for name, value in plain.items()}
    return {name: value for name, value in inside.items() if value != {}}


def _plain(value: Any, field: Field) -> Any:
    """The value as JSON would have it: what a text field takes as text, a single item as a list."""
    if field.is_list:
        return [_plain_item(item, field) for item in (value if isinstance(value, list | tuple | range) else [value])]
    return _plain_item(value, field)


def _plain_item(value: Any, field: Field) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, os.PathLike | Fraction):
        value = str(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of numpy
        value = value.item()
    field.check_number(value)
    if isinstance(value, str) and field.is_closed:
        value = called_among(value, field.known)  # collectives, where those are the choices
    if field.item_type is not str:
        return ascii(value) if isinstance(value, str) else value  # a text that is wrong here, and can be told
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
