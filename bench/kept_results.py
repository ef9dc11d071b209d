"""Files of a bench's results, written result by result, so that a run that was interrupted goes on where it stopped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.base.files import write_json

__all__ = ["read_results", "write_results"]

_Result = TypeVar("_Result")


class _Content(msgspec.Struct):
    """The file: what was asked for, and what came of it."""

    request: Mapping[str, Any]
    results: list[Any]


def read_results(path: Path, kind: type[list[_Result]], bench: str, *, or_list: bool = False) -> list[_Result]:
    """The results in a file of the command `bench`, as `kind`; with `or_list` the file may be their list alone. Raises
    FormatError when it is no such file."""
    try:
        content = msgspec.json.decode(path.read_bytes(), type=_Content | list[Any] if or_list else _Content)
        return msgspec.convert(content if isinstance(content, list) else content.results, type=kind)
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: {error}: not results of `{bench}`; name another file") from error


def write_results(path: Path | None, request: Mapping[str, Any], results: Sequence[object]) -> None:
    """Replaces the file by these results of a request; None: nothing is kept."""
    if path is not None:
        write_json(path, msgspec.to_builtins(_Content(request, list(results))))
