"""What a request came to: a line, a text, tables; the same for the terminal, a notebook and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hocket.api.request import Request

__all__ = ["Report", "Result"]


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
        return f"<pre>{escape(chr(10).join([self.summary(), *self.warnings]))}</pre>"


def _plain(value: Any) -> Any:
    """The value of a column; None for a number that JSON has not."""
    value = getattr(value, "item", lambda: value)()
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(eq=False, repr=False)
class Report(Result):
    """A result whose text is what was found, line by line."""

    request: Request
    lines: Sequence[str]
    exit_code: int = ExitCode.DONE

    def summary(self) -> str:
        return printable_lines(self.lines)
