"""Keeps the checkout off sys.path: its chakra/ would hide MLCommons' chakra package."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Golden data of other projects, read in place; a test that needs it is skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside the checkout: golden data of other projects is read in place")
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    """Small golden files of this project."""
    return ROOT / "tests" / "data"
