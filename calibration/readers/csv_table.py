"""Measurements as CSV, a line per size: the columns of nccl-tests with what its header says."""

import csv
import io

from hocket.base.collectives import bus_factor
from hocket.base.errors import FormatError
from hocket.calibration.measurement import Measurement, kind_named
from hocket.calibration.readers.printed import Printed, PrintedRow, check_row, whole

__all__ = ["COLUMNS", "is_csv", "read_csv"]

_OUT_OF_PLACE = ("oop_time_us", "oop_algbw_GBs", "oop_busbw_GBs")
_IN_PLACE = ("ip_time_us", "ip_algbw_GBs", "ip_busbw_GBs")
COLUMNS = ("collective", "dtype", "nranks", "nnodes", "size_bytes", *_OUT_OF_PLACE, *_IN_PLACE)


def is_csv(text: str) -> bool:
    """Whether its first line is one of column names."""
    return text.lstrip("\ufeff").startswith("collective,")


def read_csv(text: str, source: str) -> tuple[Measurement, ...]:
    """The measurements; empty cells of one half were not measured.

    Raises FormatError, naming file and line, for other columns, lines that are cut off and numbers that do not agree.
    """
    lines = text.lstrip("\ufeff").splitlines()
    names = tuple(lines[0].split(","))
    if names != COLUMNS:
        wrong = sorted(set(names) ^ set(COLUMNS)) or ["their order"]
        raise FormatError(f"{source}:1: columns differ in {', '.join(wrong)}; expected {','.join(COLUMNS)}")
    if text[-1:] != "\n":
        raise FormatError(f"{source}:{len(lines)}: the last line has no end: the file was cut off")
    found = []
    for number, line in enumerate(lines[1:], start=2):
        place = f"{source}:{number}"
        cells = next(csv.reader(io.StringIO(line)), [])
        if len(cells) != len(COLUMNS):
            raise FormatError(f"{place}: {len(cells)} cells, expected {len(COLUMNS)}: the line is cut off")
        row = dict(zip(COLUMNS, cells, strict=True))
        kind = kind_named(row["collective"], place)
        ranks, nodes, size = (whole(row[name], place, name) for name in ("nranks", "nnodes", "size_bytes"))
        if ranks < 2 or not 1 <= nodes <= ranks or not 0 < size < 2**55:
            raise FormatError(
                f"{place}: {ranks} ranks on {nodes} nodes, {size} B: expected 2 ranks or more, 1 B or more"
            )
        factor = bus_factor(kind, ranks)
        for names, in_place in ((_OUT_OF_PLACE, False), (_IN_PLACE, True)):
            if not any(row[name] for name in names):
                continue
            printed = PrintedRow(size, *(Printed.of(row[name], place, name) for name in names))
            check_row(printed, factor, place)
            found.append(Measurement(kind, ranks, nodes, size, printed.time_ps, in_place, place))
    return tuple(found)
