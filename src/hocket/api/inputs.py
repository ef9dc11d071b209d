"""The files that a request reads, as a page tells them: how large they are, and a digest of what is in them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hocket.api.request import Request
from hocket.base.units import format_bytes

__all__ = ["input_rows"]

_MOST_HASHED = 64 * 2**20  # bytes; more takes longer than the page is worth
_MOST_FILES = 10_000
_DIGITS = 16


def input_rows(request: Request) -> list[list[str]]:
    """A row for each file or folder that the request names and that is there: its field, path, size and SHA-256 (its
    first 16 digits; of a folder that of all names and contents in it)."""
    rows = []
    for field in request.fields():
        if field.name not in request.set_fields() or field.is_output or field.item_type is bool:
            continue
        value = request.value_of(field)
        for item in value if field.is_list else (value,):
            for path in _paths(str(item)):
                rows.append([field.name.replace("_", " "), str(path), *_told(path)])
    return rows


def _paths(item: str) -> Iterator[Path]:
    """The path that a value is, or that follows the name in `NAME=PATH`."""
    for text in dict.fromkeys((item, item.partition("=")[2])):
        try:
            if text and Path(text).exists():
                yield Path(text)
        except (OSError, ValueError):  # longer than names of files are, or with a zero byte
            continue


def _told(path: Path) -> tuple[str, str]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    size = sum(each.stat().st_size for each in files)
    said = format_bytes(size) + f" in {len(files)} files" * (path.is_dir())
    if size > _MOST_HASHED or len(files) > _MOST_FILES or not (files or path.is_dir()):
        return said, "not taken"
    digest = hashlib.sha256()
    for each in files:
        if path.is_dir():
            digest.update(str(each.relative_to(path)).encode(errors="surrogateescape") + b"\0")
        digest.update(each.read_bytes())
    return said, digest.hexdigest()[:_DIGITS]
