"""Answers on disk, appended one a line as they come: what was answered once is not asked again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Generic, TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.base.files import growing_file

__all__ = ["Record", "Store", "opened"]

Row = TypeVar("Row")
Answer = TypeVar("Answer")


class Record(msgspec.Struct, Generic[Row, Answer], forbid_unknown_fields=True):
    """A row of a sweep, its key and its answer."""

    key: str
    request: Row
    answer: Answer


class Store(Generic[Row, Answer]):
    """Answers by the key of their row; appended to a file, if there is one."""

    def __init__(self, record: type[Record[Row, Answer]], file: IO[bytes] | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self._file = file
        if file is None:
            return
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                found = msgspec.json.decode(line, type=record)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise FormatError(
                    f"{file.name}:{number}: not an answer of such a sweep: {error}; choose another file"
                ) from error
            self.answers[found.key] = found.answer
        file.truncate(whole)  # a last line without an end was cut off with the run that wrote it

    def add(self, answered: Iterable[Record[Row, Answer]]) -> None:
        """Keeps answers by their rows' keys, on disk before this returns."""
        for record in answered:
            self.answers[record.key] = record.answer
            if self._file is not None:
                self._file.write(msgspec.json.encode(record) + b"\n")
        if self._file is not None:
            self._file.flush()


@contextmanager
def opened(record: type[Record[Row, Answer]], path: Path | str | None) -> Iterator[Store[Row, Answer]]:
    """The store of such records at a path, made if absent. Raises HocketError when it cannot be written."""
    if path is None:
        yield Store(record)
        return
    with growing_file(Path(path)) as file:
        yield Store(record, file)
