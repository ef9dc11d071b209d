"""Process groups beside the traces, in ASTRA-sim's format: `{"1": [0, 1], "2": [2, 3]}`."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import read_text

__all__ = ["FILE_NAMES", "read_groups", "write_groups"]

FILE_NAMES = ("comm_groups.json", "comm_group.json")


def read_groups(path: Path | str) -> dict[str, tuple[int, ...]]:
    """World ranks of each process group, in group order. Raises FormatError, naming the file, for another content."""
    try:
        groups = msgspec.json.decode(read_text(path), type=dict[str, tuple[int, ...]])
    except msgspec.DecodeError as error:
        raise FormatError(f'{path}: expected process groups such as {{"1": [0, 1]}}: {error}') from error
    for name, ranks in groups.items():
        if not ranks or len(set(ranks)) != len(ranks) or min(ranks) < 0:
            raise FormatError(f"{path}: group {name}: {list(ranks)} is not a list of different ranks")
    return groups


def write_groups(path: Path | str, groups: Mapping[str, tuple[int, ...]]) -> None:
    """Writes the groups, one a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(ranks)}" for name, ranks in groups.items()]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n" if lines else "{}\n")
