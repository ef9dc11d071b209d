"""Registries: all that there is of one sort by name, each with what help, errors, tables and tests say of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from threading import RLock
from typing import NoReturn, TypeVar

from hocket.base.errors import FormatError, HocketError
from hocket.base.strict_yaml import nearest

__all__ = ["Entry", "Registry"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a registry knows of each thing in it: `summary`, what it is in one line; `needs`, what must hold where it is
    used, in words (a thing that cannot serve everywhere has a `why_not` that says so of one case); `source`, the paper,
    format or data sheet it is from; `example`, something that it does, as a user would type it."""

    name: str
    summary: str = ""
    needs: str = ""
    source: str = ""
    example: str = ""


AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Registry(Mapping[str, AnyEntry]):
    """Things of one sort by name, in the order in which they are listed and tried. `what` is the sort, in the singular;
    `error` is raised for names that nothing has."""

    def __init__(
        self, what: str, entries: Iterable[AnyEntry], error: Callable[[str], HocketError] = FormatError
    ) -> None:
        self.what, self._error = what, error
        self._entries: dict[str, AnyEntry] = {}
        self._files: list[tuple[str, str]] = []  # modules that are not loaded yet, and what in them has the entries
        self._loading = RLock()
        self._add(entries)

    @classmethod
    def of_files(
        cls,
        what: str,
        package: str,
        files: Iterable[str],
        attribute: str,
        error: Callable[[str], HocketError] = FormatError,
    ) -> "Registry[AnyEntry]":
        """Those that the `files` of a package hold, each in a tuple called `attribute`: a new one is one file, and its
        name among `files`. A file is loaded when its names, or names that none before it has, are asked for."""
        made = cls(what, (), error)
        made._files = [(f"{package}.{file}", attribute) for file in files]
        return made

    def _add(self, entries: Iterable[AnyEntry]) -> None:
        for entry in entries:
            if entry.name in self._entries:
                raise self._error(
                    f"there are two of the name '{entry.name}' ({self.what}): call one of them something else"
                )
            self._entries[entry.name] = entry

    def _load(self, wanted: str | None = None) -> dict[str, AnyEntry]:
        """All entries; or those of the files up to the one that has `wanted`."""
        with self._loading:
            while self._files and (wanted is None or wanted not in self._entries):
                module, attribute = self._files[0]
                self._add(getattr(import_module(module), attribute))
                del self._files[0]
        return self._entries

    def __getitem__(self, name: str) -> AnyEntry:
        return self._load(name)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def named(self, name: str, place: str = "", also: Iterable[str] = ()) -> AnyEntry:
        """The one of that name. Raises the registry's error, which begins with `place` and names what is near and what
        there is, with the names of other sorts that would do (`also`)."""
        return self[name] if name in self else self.refuse(name, place, also)

    def refuse(self, name: str, place: str = "", also: Iterable[str] = ()) -> NoReturn:
        """As `named` of a name that nothing has."""
        start = f"{place}: " if place else ""
        raise self._error(f"{start}there is no {self.what} '{name}'; {nearest(name, [*self, *also])}")
