"""What a request came to: a line, a text, tables; the same for the terminal, a notebook and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from hocket.base.errors import ExitCode
from hocket.base.text import markup, printable_lines
from hocket.base.units import format_bandwidth, format_bytes, format_time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hocket.api.request import Request

__all__ = ["Report", "Result"]

_MOST_ROWS, _MOST_LETTERS = 20, 200  # of a table in a notebook
#: How people read numbers, by the end of a column's name.
_UNITS: Mapping[str, Callable[[Any], str]] = {
    "_ps": format_time,
    "_bytes": format_bytes,
    **dict.fromkeys(("algbw", "busbw", "bandwidth"), format_bandwidth),
}


class Result:
    """Base of all results. A subclass gives `headline`, `summary`, and `columns` where it has tables."""

    request: Request
    #: With what `hocket VERB` ends; not 0 where the check that was asked for failed.
    exit_code: int = ExitCode.DONE
    #: What makes the result untrustworthy; the command says it on standard error.
    warnings: Sequence[str] = ()
    #: The attribute with the single ones, of a result that has several.
    several: str = ""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            remedy = f": it has several; take one of .{self.several}" if self.several else ""
            raise AttributeError(f"{type(self).__name__} has no '{name}'{remedy}", name=name, obj=self)

    @property
    def whole_times_ps(self) -> tuple[int, int] | None:
        """How long what was asked about takes, and its lower bound, in picoseconds; None where it is not one time."""
        return None

    def headline(self) -> str:
        """The result in one short line."""
        return self.summary().partition("\n")[0] or f"exit code {int(self.exit_code)}"

    def summary(self) -> str:
        """What the command prints, without a newline at its end."""
        raise NotImplementedError

    def rest(self) -> str:
        """What the command prints of `summary` at the end: all but what was said as it came."""
        return self.summary()

    def columns(self) -> Mapping[str, Mapping[str, NDArray[np.generic]]]:
        """Tables by name, each as columns of equal length."""
        return {}

    def details(self) -> Mapping[str, Any]:
        """What its JSON has beside the lines and the tables: numbers and names as plain values."""
        return {}

    def as_json(self) -> dict[str, Any]:
        """The JSON of a result without a form of its own (docs/results.md): plain values, tables by columns."""
        return {
            "format": "hocket.result",
            "version": 1,
            "request": self.request.to_plain(),
            "exit_code": int(self.exit_code),
            "headline": self.headline(),
            "warnings": [*self.warnings],
            "lines": self.summary().split("\n"),
            **self.details(),
            "tables": {
                name: {column: [*map(_plain, values)] for column, values in table.items()}
                for name, table in self.columns().items()
            },
        }

    def tables(self) -> dict[str, Any]:
        """The tables by name: pandas' DataFrames where pandas is installed, else columns of numpy arrays."""
        try:
            from pandas import DataFrame
        except ImportError:
            return {name: dict(table) for name, table in self.columns().items()}
        return {name: DataFrame(dict(table)) for name, table in self.columns().items()}

    def __repr__(self) -> str:
        return "\n".join([f"<{type(self).__name__}: {self.headline()}>", *self.warnings])

    def _repr_html_(self) -> str:
        """What notebooks show: what the command prints, and below it the tables, to be opened."""
        tables = (_html(name, table) for name, table in self.columns().items() if table)
        return f"<pre>{markup(chr(10).join([self.summary(), *self.warnings]))}</pre>" + "".join(tables)


def _plain(value: Any) -> Any:
    """The value of a column; None for a number that JSON has not."""
    value = getattr(value, "item", lambda: value)()
    return None if isinstance(value, float) and not isfinite(value) else value


def _html(name: str, table: Mapping[str, NDArray[np.generic]]) -> str:
    """The first rows of a table, in units that people read."""
    count = len(next(iter(table.values())))
    heads = "".join(f"<th>{markup(column)}</th>" for column in table)
    columns = [[_cell(column, value) for value in values[:_MOST_ROWS].tolist()] for column, values in table.items()]
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    what = f"{name}: {count:,} row{'s' * (count != 1)}" + f", the first {_MOST_ROWS}" * (count > _MOST_ROWS)
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<details><summary>{markup(what)}</summary>{body}</details>"


def _cell(column: str, value: Any) -> str:
    said = str(value)
    if isinstance(value, float) and not isfinite(value):
        said = "-"
    elif isinstance(value, int | float) and value >= 0:
        form = next((form for ending, form in _UNITS.items() if column.endswith(ending)), None)
        said = form(value) if form else said
    return f"<td>{markup(said if len(said) <= _MOST_LETTERS else said[:_MOST_LETTERS] + '…')}</td>"


@dataclass(eq=False, repr=False)
class Report(Result):
    """A result whose text is what was found, line by line."""

    request: Request
    lines: Sequence[str]
    exit_code: int = ExitCode.DONE

    def summary(self) -> str:
        return printable_lines(self.lines)
