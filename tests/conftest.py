"""Shared fixtures; and the checkout kept off sys.path: its chakra/ would hide MLCommons' chakra package."""

import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
# A loaded machine must not fail a test: hypothesis' deadline measures wall time.
settings.register_profile("hocket", deadline=None)
settings.load_profile("hocket")
# A shell's background job ignores Ctrl-C and so would all it starts; tests send it to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
sys.path.append(str(Path(__file__).parent))  # `homes`, for the tests of several folders


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
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    assert executable, "Chromium is needed: apt-get install chromium"
    from playwright.sync_api import sync_playwright

    offline = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=offline)
        yield chromium
        chromium.close()
