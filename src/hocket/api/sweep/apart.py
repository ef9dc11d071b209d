"""What a worker of MPI or of dask does with the rows it gets: they are answered in a process of its own, so that one
that crashes, takes all memory or hangs ends that process alone, and neither an MPI job nor a dask worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from hocket.base.workers import Failed, Workers

__all__ = ["answered_apart"]

Row = TypeVar("Row")
Answered = TypeVar("Answered")

_kept = threading.local()  # dask workers may have several threads


def answered_apart(
    answer: Callable[[Row], Answered], rows: Sequence[Row], limit_s: float | None = None
) -> list[tuple[int, Answered | Failed]]:
    """The places of the rows with their answers. The process stays for the next rows of this thread, and ends with this
    process. Raises HocketError where it cannot begin."""
    found: tuple[float | None, Workers] | None = getattr(_kept, "workers", None)
    if found is None or found[0] != limit_s:
        if found:
            found[1].end()
        found = _kept.workers = (limit_s, Workers(1, limit_s))
    return list(found[1].answers(answer, rows))
