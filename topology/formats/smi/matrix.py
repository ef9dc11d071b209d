"""What `nvidia-smi topo -m` prints: a matrix of how each two devices reach each other, read strictly.

Read are the forms of all drivers: NICs named in the header or as NIC0 with a legend, with and without NUMA columns, the
header underlined by escape codes, tabs or blanks between cells, text of a report around the matrix.
"""

import re
from dataclasses import dataclass

from hocket.base.errors import FormatError

__all__ = ["LEVELS", "SmiMatrix", "is_smi_matrix", "read_smi_matrix"]

# How far two devices are apart over PCI; SOC is what old drivers call SYS.
LEVELS = {"X": 0, "PIX": 1, "PXB": 2, "PHB": 3, "NODE": 4, "SYS": 5, "SOC": 5}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU[0-9]{1,3}")
_CELL = re.compile(r"X|NV[0-9]{1,2}|" + "|".join(LEVELS))
_LEGEND = re.compile(r"\s*(NIC[0-9]{1,3}):\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class SmiMatrix:
    """`devices`: GPUs, then NICs by their columns' names; `cells[one, other]`: `NV18`, `PIX`, ... of those that have a
    row, GPUs all, NICs all or none; `places`: what the output says of where a GPU is, alike for GPUs of one NUMA node,
    or ""; `names` of the NICs."""

    source: str
    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    cells: dict[tuple[str, str], str]
    places: dict[str, str]
    names: dict[str, str]


def is_smi_matrix(text: str) -> bool:
    """Whether there is such a matrix in a text."""
    return "GPU" in text and any(_is_header(line.split()) for line in _ESCAPE.sub("", text).splitlines())


def read_smi_matrix(text: str, source: str) -> SmiMatrix:
    """The matrix in a text. Raises FormatError naming line and row, what was expected and the remedy."""
    lines = _ESCAPE.sub("", text).splitlines()
    header = next((at for at, line in enumerate(lines) if _is_header(line.split())), None)
    if header is None:
        raise FormatError(f"{source}: no matrix of nvidia-smi topo -m in it: expected a header GPU0 GPU1 ...")
    words = lines[header].split()
    end = words.index("CPU") if "CPU" in words else len(words)
    columns, has_numa = words[:end], "NUMA" in words[end:]
    if len(set(columns)) < len(columns):
        raise FormatError(f"{source}:{header + 1}: a device is in the header twice")
    cells: dict[tuple[str, str], str] = {}
    places: dict[str, str] = {}
    for number, line in enumerate(lines[header + 1 :], start=header + 2):
        row = line.split()
        if not row or row[0] not in columns:
            break
        if (row[0], row[0]) in cells:
            raise FormatError(f"{source}:{number}: a second row of {row[0]}: keep one")
        cells |= _row(row, columns, f"{source}:{number}")
        rest = row[1 + len(columns) :]
        place = rest[1] if has_numa and len(rest) > 1 else "".join(rest[:1])
        places[row[0]] = "" if place == "N/A" else place
    gpus = tuple(column for column in columns if _GPU.fullmatch(column))
    nics = tuple(column for column in columns if column not in gpus)
    missing = [gpu for gpu in gpus if (gpu, gpu) not in cells]
    without = [nic for nic in nics if (nic, nic) not in cells]
    if missing or 0 < len(without) < len(nics):
        raise FormatError(f"{source}: no row of {', '.join(missing or without)}: is the output cut off? Save all of it")
    for (one, other), cell in cells.items():
        back = cells.get((other, one), cell)
        if LEVELS.get(back, back) != LEVELS.get(cell, cell):
            raise FormatError(f"{source}: {one} reaches {other} by {cell}, but {other} reaches {one} by {back}")
    legend = {match[1]: match[2] for line in lines if (match := _LEGEND.fullmatch(line))}
    return SmiMatrix(source, gpus, nics, cells, places, {nic: legend.get(nic, nic) for nic in nics})


def _is_header(words: list[str]) -> bool:
    return bool(words) and bool(_GPU.fullmatch(words[0])) and not (words[1:] and _CELL.fullmatch(words[1]))


def _row(row: list[str], columns: list[str], where: str) -> dict[tuple[str, str], str]:
    found = row[1 : 1 + len(columns)]
    for column, cell in zip(columns, found, strict=False):
        if not _CELL.fullmatch(cell) or (cell == "X") != (column == row[0]):
            known = "X" if column == row[0] else "NV#, PIX, PXB, PHB, NODE or SYS"
            raise FormatError(f"{where}: {row[0]} and {column}: '{cell}': expected {known}; is the row whole?")
    if len(found) < len(columns):
        raise FormatError(
            f"{where}: {row[0]} has {len(found)} cells of {len(columns)}: is the output cut off? Save all of it"
        )
    return {(row[0], column): cell for column, cell in zip(columns, found, strict=True)}
