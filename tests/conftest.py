"""Shared fixtures; and the checkout kept off sys.path: its chakra/ would hide MLCommons' chakra package."""

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

ROOT = Path(__file__).parents[1]
# The same examples on every machine and in every run: `make test` fails by what changed, never by chance. A loaded
# machine must not fail a test either, so that nothing counts wall time. `make fuzz` draws examples by a random seed.
STEADY: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
    "database": None,
}
settings.register_profile("fixed", derandomize=True, **STEADY)
settings.register_profile("fuzz", print_blob=True, **STEADY)
settings.load_profile("fixed")
# A shell's background job ignores Ctrl-C and so would all it starts; tests send it to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
# What tests share lies beside them, or here where several folders share it.
HELPERS = (path for path in (ROOT / "tests").rglob("*.py") if not path.stem.startswith(("test_", "conftest")))
sys.path += sorted({str(path.parent) for path in HELPERS})
# What the tests of a marker need, an extra of the package's each.
EXTRAS = {
    "torch": "torch",
    "mpi": "mpi4py",
    "parquet": "pyarrow",
    "solve": "highspy",
    "dask": "distributed",
    "docs": "sphinx",
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def pytest_configure() -> None:
    """Where all is promised to be here, as `make test` does, no test is skipped for want of it."""
    here = {**{module: find_spec(module) for module in [*EXTRAS.values(), "playwright"]}, "Chromium": CHROMIUM}
    absent = [what for what, found in here.items() if not found]
    if absent and os.environ.get("HOCKET_REQUIRE_EXTRAS"):
        raise pytest.UsageError(f"HOCKET_REQUIRE_EXTRAS is set, and absent are {', '.join(absent)}: see `make test`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make fuzz` takes the property tests alone, in another order each round: time may end before the last."""
    if config.getoption("--hypothesis-profile") == "fuzz":
        items[:] = [item for item in items if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)]
        random.Random(config.getoption("--hypothesis-seed")).shuffle(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > float(os.environ.get("HOCKET_FUZZ_UNTIL", "inf")):
        pytest.skip("the time for this round is up")
    for extra, module in EXTRAS.items():
        if item.get_closest_marker(extra) and find_spec(module) is None:
            pytest.skip(f"needs {module}: pip install 'hocket[{extra}]'")


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config) -> Path:
    """Where compiled libraries stay from one run of the tests to the next: their names tell what they are made of."""
    if not pytestconfig.cache:
        return Path()
    folder = pytestconfig.cache.mkdir("hocket")
    folder.chmod(0o755)  # whatever the umask: a cache that others may write to is refused
    return folder


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real browser: Debian's Chromium, driven by playwright, without a network."""
    sync_playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright").sync_playwright
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    offline = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=offline)
        yield chromium
        chromium.close()
