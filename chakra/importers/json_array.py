"""Objects in the long array of a JSON file, some at a time: profiles of a gigabyte are read in little memory."""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import opened
from hocket.chakra.importers.files import MALFORMED

__all__ = ["JsonArray"]

_BLOCK = 1 << 22
_LONGEST_OBJECT = 1 << 26
# After an item; the first finds only those whose last member is an array or object, but fewer places within items.
_BETWEEN = (re.compile(rb"[\]}]\s*\}(?=\s*,\s*\{)"), re.compile(rb"\}(?=\s*,\s*\{)"))
_AT_END = re.compile(rb"\}(?=\s*\]\s*[,}])")
_TRIED = 32

Item = TypeVar("Item")
Rest = TypeVar("Rest")


class JsonArray(Generic[Item, Rest]):
    """The items of the array `key`, a member of the file's outermost object, and all other members as `rest`.

    Iterate over `blocks` first: `rest` is complete when they are through. A file that ends within the array, as that
    of a killed process does, gives the items before, and sets `is_cut`.
    """

    def __init__(self, path: Path, key: str, item: type[Item], rest: type[Rest]) -> None:
        self.is_cut = False
        self._path = path
        self._key = key
        self._begins = re.compile(rb'"' + key.encode() + rb'"\s*:\s*\[')
        self._decoder = msgspec.json.Decoder(list[item])  # type: ignore[valid-type]  # a type only known here
        self._rest_type = rest
        self._around = b""

    @property
    def rest(self) -> Rest:
        """The other members. Raises FormatError, naming the file, where they are not as expected."""
        try:
            return msgspec.json.decode(self._around, type=self._rest_type)
        except MALFORMED as error:
            raise FormatError(f"{self._path}: around '{self._key}': {error}") from error

    def blocks(self) -> Iterator[list[Item]]:
        """The items, some thousand at a time. Raises FormatError, naming the file, for one that is not as expected."""
        with opened(self._path) as file:
            data = b""
            while not (begins := self._begins.search(data)):
                block = file.read(_BLOCK)
                data += block
                if not block or len(data) > _LONGEST_OBJECT:
                    raise FormatError(f"{self._path}: no array '{self._key}'")
            head, data, has_items = data[: begins.end()], data[begins.end() :], False
            while block := file.read(_BLOCK):
                data += block
                if len(data) > _LONGEST_OBJECT:
                    raise FormatError(f"{self._path}: an item of '{self._key}' is longer than {_LONGEST_OBJECT} bytes")
                if found := self._up_to(_BETWEEN[0], data) or self._up_to(_BETWEEN[1], data):
                    items, end = found
                    data = data[end:].lstrip()[1:]
                    has_items = True
                    yield items
        yield self._last(head, data, has_items)

    def _last(self, head: bytes, data: bytes, has_items: bool) -> list[Item]:
        """The items up to the array's end, or those that are whole where the file ends before; `has_items`: some were
        before."""
        if empty := re.match(rb"\s*\]", data):
            self._around = head + data[empty.end() - 1 :]
            return []
        if found := self._up_to(_AT_END, data):
            items, end = found
            self._around = head + data[end:]
            return items
        self.is_cut = True
        self._around = head + b"]}"
        items, _ = self._up_to(_BETWEEN[1], data) or ([], 0)
        if not items and not has_items:
            raise FormatError(f"{self._path}: '{self._key}' does not end, and has no whole item")
        return items

    def _up_to(self, place: re.Pattern[bytes], data: bytes) -> tuple[list[Item], int] | None:
        """The items up to the last such place that is not within an item, and where they end."""
        for match in reversed(deque(place.finditer(data), _TRIED)):
            try:
                return self._decoder.decode(b"[" + data[: match.end()] + b"]"), match.end()
            except msgspec.ValidationError as error:
                raise FormatError(f"{self._path}: '{self._key}': {error}") from error
            except MALFORMED:
                continue
        return None
