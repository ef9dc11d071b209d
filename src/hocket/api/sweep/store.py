"""Answers in a database: what was answered once is not asked again, whatever ends a sweep."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from hocket.base.errors import FormatError, HocketError
from hocket.base.files import make_folder
from hocket.base.version import __version__

__all__ = ["ANSWERS", "NO_RUN", "Record", "Store", "SweepRun", "opened", "stored"]

ANSWERS = "answers.sqlite"
"""In the folder of a sweep."""

Row = TypeVar("Row")
Answer = TypeVar("Answer")

_FORMAT = 1
_PATIENCE_S = 5.0  # as sqlite3 has by default
_NAME = 0x486F636B  # "Hock", which tells such a database from those of others
_TABLES = """
CREATE TABLE IF NOT EXISTS run (number INTEGER PRIMARY KEY, hocket TEXT, seed INTEGER, spec TEXT);
CREATE TABLE IF NOT EXISTS point (
    key TEXT PRIMARY KEY, request TEXT, answer TEXT, failure TEXT, run INTEGER REFERENCES run
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked (number INTEGER PRIMARY KEY, key TEXT, parameters TEXT);
"""


@dataclass(frozen=True)
class SweepRun:
    """What is noted of a run: the parameters of its rows, the `seed` of what was drawn, and the file that it performs,
    as plain values."""

    parameters: Sequence[Mapping[str, Any]] = ()
    seed: int | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


NO_RUN = SweepRun()


@dataclass(frozen=True, slots=True)
class Record(Generic[Row, Answer]):
    """A row of a sweep, its key, and its answer or why it failed: `answer` then says so too."""

    key: str
    request: Row
    answer: Answer
    failure: str = ""


class Store(Generic[Row, Answer]):
    """Answers by the key of their row, in a database if there is one: table `point`, with the requests as JSON and the
    run that answered them; `asked` has the rows of the last run in their order, `run` each file, version and seed."""

    def __init__(self, answer: type[Answer], base: sqlite3.Connection | None = None, retry: bool = False) -> None:
        self.answers: dict[str, Answer] = {}
        self.failed: set[str] = set()
        self._base = base
        self._run = 0
        if base is None:
            return
        decoder = msgspec.json.Decoder(answer)
        for key, content, failure in base.execute("SELECT key, answer, failure FROM point"):
            if failure and retry:
                continue
            try:
                self.answers[key] = decoder.decode(content)
            except msgspec.MsgspecError as error:
                raise sqlite3.DatabaseError(f"point {key}: {error}") from error
            if failure:
                self.failed.add(key)

    def begin(self, keys: Sequence[str], run: SweepRun) -> None:
        """Notes what a run asks, unless it asks what the last one did and all of that is answered."""
        if self._base is None:
            return
        encode = msgspec.json.encode
        said = (__version__, run.seed, encode(run.spec).decode())
        parameters = run.parameters or [{}] * len(keys)
        named = enumerate(zip(keys, parameters, strict=True))
        asked = [(at, key, encode(values).decode()) for at, (key, values) in named]
        last = self._base.execute("SELECT hocket, seed, spec FROM run ORDER BY number DESC LIMIT 1").fetchone()
        if last == said and all(key in self.answers for key in keys):
            before = self._base.execute("SELECT * FROM asked ORDER BY number").fetchall()
            if before == asked:
                return
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            self._run = self._base.execute("INSERT INTO run (hocket, seed, spec) VALUES (?, ?, ?)", said).lastrowid or 0
            self._base.execute("DELETE FROM asked")
            self._base.executemany("INSERT INTO asked VALUES (?, ?, ?)", asked)

    def add(self, answered: Iterable[Record[Row, Answer]]) -> None:
        """Keeps answers by their rows' keys, in the database before this returns."""
        records = list(answered)
        encode = msgspec.json.encode
        if self._base is not None:
            rows = [
                (
                    each.key,
                    encode(each.request).decode(),
                    encode(each.answer).decode(),
                    each.failure or None,
                    self._run,
                )
                for each in records
            ]
            with self._base:
                self._base.execute("BEGIN IMMEDIATE")
                self._base.executemany("INSERT OR REPLACE INTO point VALUES (?, ?, ?, ?, ?)", rows)
        for each in records:
            self.answers[each.key] = each.answer
            (self.failed.add if each.failure else self.failed.discard)(each.key)


@contextmanager
def opened(answer: type[Answer], path: Path | str | None, retry: bool = False) -> Iterator[Store[Any, Answer]]:
    """The store of such answers at a path, made if absent; with `retry` what failed counts as not answered. Raises
    HocketError, naming it, where it is none, or cannot be read or written."""
    if path is None:
        yield Store(answer)
        return
    make_folder(Path(path).parent)
    base = None
    try:
        base = sqlite3.connect(path, isolation_level=None)
        _prepare(base)
        yield Store(answer, base, retry)
    except sqlite3.OperationalError as error:
        raise HocketError(
            f"{path}: {error}: is the disk full, or the folder not yours? what was answered before is kept: make room,"
            " and run the same command to go on"
        ) from error
    except sqlite3.DatabaseError as error:
        raise FormatError(f"{path}: not the answers of such a sweep: {error}; choose another folder") from error
    finally:
        if base is not None:
            base.close()


def _prepare(base: sqlite3.Connection) -> None:
    """Readers go on while answers are added, and what is added outlives this process at once."""
    seen = "SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id"  # at one instant
    name, tables = base.execute(seen).fetchone()
    if name != _NAME and tables:
        raise sqlite3.DatabaseError("a database of something else")
    _write_ahead(base)
    base.execute("PRAGMA synchronous = NORMAL")
    if not tables:  # another process may make them meanwhile
        base.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {_NAME}; PRAGMA user_version = {_FORMAT}; {_TABLES} COMMIT;"
        )
    elif (found := base.execute("PRAGMA user_version").fetchone()[0]) != _FORMAT:
        raise sqlite3.DatabaseError(f"of format {found}, this Hocket knows {_FORMAT}")


def _write_ahead(base: sqlite3.Connection) -> None:
    """Readers and a writer from now on. SQLite does not wait here for another process that begins too."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            base.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def stored(path: Path) -> tuple[Mapping[str, Any], Sequence[tuple[Mapping[str, Any], str, str]]]:
    """The file that the last run performs, as plain values, and of each of its rows that is answered the parameters,
    the request and the answer, as JSON. Raises FormatError where there is no such database."""
    if not path.is_file():
        raise FormatError(f"{path}: no such file; the folder of hocket sweep has one")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as base:
            base.execute("BEGIN")
            found = base.execute("SELECT spec FROM run ORDER BY number DESC LIMIT 1").fetchone()
            rows = base.execute(
                "SELECT parameters, request, answer FROM asked JOIN point USING (key) ORDER BY asked.number"
            ).fetchall()
    except sqlite3.Error as error:
        raise FormatError(f"{path}: not the answers of a sweep: {error}") from error
    spec = msgspec.json.decode(found[0]) if found else {}
    return spec, [(msgspec.json.decode(said), request, answer) for said, request, answer in rows]
