"""The runs whose results lie in a folder: what made them, when, and what they came to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.api.command_line import command_line
from hocket.api.provenance import headline_in, request_in, times_in
from hocket.base.errors import HocketError
from hocket.base.reading import read_text
from hocket.base.text import printable
from hocket.base.units import format_bytes, format_time

__all__ = ["LeftOut", "StoredRun", "StoredRuns", "json_in"]

_MOST_BYTES = 64 * 2**20  # of a file that is read for the list; larger ones can be fetched
_MOST_FILES = 20_000
_MOST_NAMED = 3  # of files that are left out for the same reason
_NO_JSON = "not readable as JSON: cut off, or of another format"
_PREDICTION = "hocket.prediction"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A command that was run: `files` by paths below the folder, those with JSON first; `changed_s` in seconds of the
    epoch; times None where the result has none."""

    files: tuple[str, ...]
    words: str
    command: str
    changed_s: float
    headline: str
    time_ps: int | None = None
    bound_ps: int | None = None
    is_prediction: bool = False

    @property
    def path(self) -> str:
        return self.files[0]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that the list has no run of, for the same reason."""

    paths: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        shown = ", ".join(self.paths[:_MOST_NAMED])
        more = len(self.paths) - _MOST_NAMED
        return f"{shown}{f' and {more} more' * (more > 0)}: {self.why}"


@dataclass(frozen=True, slots=True)
class _Result:
    """One file: the command, and what is told of its result."""

    words: str
    command: str
    headline: str
    time_ps: int | None
    bound_ps: int | None
    is_prediction: bool


class StoredRuns:
    """The runs of a folder, read again where files changed; `left_out`: what `all` found no run in, by reason."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[tuple[str, int, int], _Result | str] = {}
        self.left_out: tuple[LeftOut, ...] = ()

    def all(self) -> list[StoredRun]:
        """The newest first. Files of one command in one folder are one run."""
        left_out: dict[str, list[str]] = {}
        found: dict[tuple[str, str], list[tuple[str, float, _Result]]] = {}
        before, self._read = self._read, {}
        for path, status in self._files():
            key = (path, status.st_size, status.st_mtime_ns)
            result = self._read[key] = before[key] if key in before else _result(self._folder / path)
            if isinstance(result, str):
                left_out.setdefault(result, []).append(path)
            else:
                found.setdefault((os.path.dirname(path), result.command), []).append((path, status.st_mtime, result))
        self.left_out = tuple(LeftOut(tuple(paths), why) for why, paths in left_out.items())
        runs = [_run(several) for several in found.values()]
        return sorted(runs, key=lambda run: (-run.changed_s, run.path))

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Files below the folder that may hold results: no links, nothing hidden."""
        count = 0
        for place, folders, names in os.walk(self._folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(place, name)
                if name.startswith(".") or path.suffix not in (".json", ".html") or path.is_symlink():
                    continue
                try:
                    status = path.stat()
                except OSError:  # gone meanwhile
                    continue
                if path.is_file():
                    yield str(path.relative_to(self._folder)), status
                count += 1
                if count == _MOST_FILES:
                    return


def json_in(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds; an empty one where it holds none, or is too large to be shown."""
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= _MOST_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _result(path: Path) -> _Result | str:
    """Why there is none of a file of others, or of one that is damaged."""
    if path.stat().st_size > _MOST_BYTES:
        return f"more than {format_bytes(_MOST_BYTES)}"
    try:
        request = request_in(path)
        command = command_line(request)
    except HocketError as error:
        return _NO_JSON if path.suffix == ".json" and not _is_json(path) else _reason(path, error)
    if path.suffix == ".html":
        page = read_text(path)
        return _Result(request.words(), command, headline_in(page), *times_in(page), is_prediction=False)
    content = json_in(path)
    time_ps, bound_ps = (_time(content.get(name)) for name in ("time_ps", "bound_ps"))
    headline = _headline(content, time_ps)
    return _Result(request.words(), command, headline, time_ps, bound_ps, content.get("format") == _PREDICTION)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return True


def _reason(path: Path, error: HocketError) -> str:
    """The error without the path and the remedy."""
    return printable(str(error).removeprefix(f"{path}: ").partition("; ")[0])


def _headline(content: dict[str, Any], time_ps: int | None) -> str:
    if isinstance(said := content.get("headline"), str):
        return said
    topology = content.get("topology")
    name = topology.get("name") if isinstance(topology, dict) else topology
    parts = [name] if isinstance(name, str) else []
    if time_ps is not None:
        parts.append(format_time(time_ps))
    if isinstance(ratio := content.get("ratio"), float):
        parts.append(f"{ratio:.3f} times the lower bound")
    return ", ".join(parts)


def _time(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**62 else None


def _run(several: list[tuple[str, float, _Result]]) -> StoredRun:
    several.sort(key=lambda one: (not one[0].endswith(".json"), one[0]))
    first = several[0][2]
    return StoredRun(
        files=tuple(path for path, _, _ in several),
        words=first.words,
        command=first.command,
        changed_s=max(changed for _, changed, _ in several),
        headline=first.headline,
        time_ps=first.time_ps,
        bound_ps=first.bound_ps,
        is_prediction=first.is_prediction,
    )
