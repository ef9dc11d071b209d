"""Schedules for the tests of this folder."""

from pathlib import Path

import pytest
from bundles import write_schedule

from hocket.schedule import Kind


@pytest.fixture(scope="session")
def schedules(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Few steps for small sizes, a ring for large ones."""
    folder = tmp_path_factory.mktemp("schedules")
    return [
        write_schedule(folder / "large.schedule", Kind.ALL_REDUCE, "ring", 64 << 20),
        write_schedule(folder / "small.schedule", Kind.ALL_REDUCE, "recursive_doubling", 4096),
    ]
