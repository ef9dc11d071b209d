"""Which rank a file is of, by its name."""

import re
from pathlib import Path

from hocket.base.errors import FormatError

__all__ = ["number_in", "rank_of"]

_RANK = re.compile(r"rank[-_.]?(\d{1,9})")
_NUMBER = re.compile(r"(\d{1,9})\D*$")
# Not of a version, as in 1.0.2-chakra.0.0.4.
_LAST = re.compile(r"(?<!\d)[-_.](\d{1,5})$")


def rank_of(path: Path, num_files: int) -> int:
    """The rank in a file's name. Raises FormatError where there is none, but of a single rank's files."""
    number = number_in(path, num_files)
    if number is None and num_files > 2:
        raise FormatError(f"{path}: nothing tells its rank: name it, as in trace_rank3.json")
    return number or 0


def number_in(path: Path, num_files: int) -> int | None:
    """The rank in a file's name; a file alone is likely to have other numbers in it."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    match = _RANK.search(stem) or (_NUMBER if num_files > 1 else _LAST).search(stem)
    return int(match[1]) if match else None
