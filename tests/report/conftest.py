"""A real browser: Debian's Chromium, driven by playwright."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    assert executable, "Chromium is needed: apt-get install chromium"
    from playwright.sync_api import sync_playwright

    offline = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=offline)
        yield chromium
        chromium.close()
