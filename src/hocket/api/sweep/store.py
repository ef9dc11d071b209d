"""Answers on disk, appended one a line as they come: what was answered once is not asked again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.answer import Answer
from hocket.base.errors import FormatError
from hocket.base.files import growing_file

__all__ = ["Store", "opened"]


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    request: Simulation
    answer: Answer


class Store:
    """Answers by the key of their row; appended to a file, if there is one."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self._file = file
        if file is None:
            return
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                record = msgspec.json.decode(line, type=_Record)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise FormatError(
                    f"{file.name}:{number}: not an answer of a sweep: {error}; choose another file"
                ) from error
            self.answers[record.key] = record.answer
        file.truncate(whole)  # a last line without an end was cut off with the run that wrote it

    def add(self, answered: Iterable[tuple[str, Simulation, Answer]]) -> None:
        """Keeps answers by their rows' keys, on disk before this returns."""
        for key, row, answer in answered:
            self.answers[key] = answer
            if self._file is not None:
                self._file.write(msgspec.json.encode(_Record(key, row, answer)) + b"\n")
        if self._file is not None:
            self._file.flush()


@contextmanager
def opened(path: Path | str | None) -> Iterator[Store]:
    """The store at a path, made if absent. Raises HocketError when it cannot be written."""
    if path is None:
        yield Store()
        return
    with growing_file(Path(path)) as file:
        yield Store(file)
