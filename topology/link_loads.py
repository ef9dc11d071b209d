"""Files of loads: which part of which links others use."""

import csv
from dataclasses import replace
from pathlib import Path

from hocket.base.errors import FormatError, TopologyError, placed
from hocket.base.reading import read_text
from hocket.base.strict_yaml import read_yaml
from hocket.topology.failures import share
from hocket.topology.model import Topology

__all__ = ["share_file"]

_HEADER = ["what", "part"]


def share_file(topology: Topology, path: Path) -> Topology:
    """`share` with the loads of a file: a YAML mapping such as `link:3-4: 0.3`, or a .csv of columns `what,part`.

    The topology is named after the file. Raises FormatError and TopologyError naming file and line.
    """
    shared = topology
    for where, what, part in _rows(path):
        try:
            shared = share(shared, [f"{what}={part}"])
        except (FormatError, TopologyError) as error:
            raise placed(where, error) from error
    return replace(shared, name=f"{topology.name} with load {path.name}")


def _rows(path: Path) -> list[tuple[str, str, str]]:
    """Where each load stands, of what, and which part."""
    text = read_text(path)
    if path.suffix != ".csv":
        document = read_yaml(text, str(path))
        return [(document.where(f"$.{what}"), what, str(part)) for what, part in document.content.items()]
    reader = csv.reader(text.splitlines())
    rows = []
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if len(row) != len(_HEADER):
                raise FormatError(f"{where}: expected two columns, `what,part`, got {len(row)}")
            rows.append((where, row[0].strip(), row[1].strip()))
    except csv.Error as error:
        raise FormatError(f"{path}:{reader.line_num}: {error}") from error
    if not rows or list(rows[0][1:]) != _HEADER:
        raise FormatError(f"{path}:1: expected the header `what,part`")
    return rows[1:]
