"""An input folder per test."""

from collections.abc import Callable
from pathlib import Path

import pytest
from astra_inputs import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def times(folder: Folder) -> Callable[..., list[int]]:
    """Finish of every rank of the same trace on all four ranks."""
    return lambda trace, **options: folder.simulate((trace,) * 4, **options).finish_ns.tolist()
