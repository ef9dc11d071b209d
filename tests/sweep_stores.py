"""What the store of a sweep holds, read as anybody reads it, while the sweep goes on too."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

__all__ = ["runs_of"]


def runs_of(path: Path) -> dict[str, int]:
    """The run that answered each point, by the point's key; none where there is no table yet."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        return dict(base.execute("SELECT key, run FROM point"))
    return {}
