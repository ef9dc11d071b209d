"""A table: named numpy columns of one length."""

from typing import Any

from numpy.typing import NDArray

__all__ = ["Columns"]

Columns = dict[str, NDArray[Any]]
