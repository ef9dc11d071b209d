"""Columns of an analysis as the tables of a page."""

from collections.abc import Callable

from hocket.report.blocks import Table
from hocket.simulator.analysis import Columns

__all__ = ["Formats", "table_of"]

_ROWS = 500
Formats = dict[str, Callable[..., str]]
"""How the cells of each column are written, by its name; columns that are not here are left out."""


def table_of(table: Columns, formats: Formats, about: str = "") -> Table:
    """The first rows, the columns that `formats` names as it says."""
    columns = [[formats[name](value) for value in table[name][:_ROWS].tolist()] for name in formats]
    headings = [
        name.removeprefix("mean_").removesuffix("_ps").removesuffix("_bytes").replace("_", " ") for name in formats
    ]
    return Table(headings, list(zip(*columns, strict=True)), about=about)
