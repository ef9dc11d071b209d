"""Lets the tests of this folder import its helpers, and skips those whose backend is not installed."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

MODULES = {"torch": "torch", "mpi": "mpi4py"}


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config) -> Path:
    """Where compiled libraries stay from one run of the tests to the next: their names tell what they are made of."""
    if not pytestconfig.cache:
        return Path()
    folder = pytestconfig.cache.mkdir("hocket")
    folder.chmod(0o755)  # whatever the umask: a cache that others may write to is refused
    return folder


def pytest_runtest_setup(item: pytest.Item) -> None:
    for extra, module in MODULES.items():
        if item.get_closest_marker(extra) and find_spec(module) is None:
            pytest.skip(f"needs {module}: pip install 'hocket[{extra}]'")
