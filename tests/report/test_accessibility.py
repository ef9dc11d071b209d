"""Pages by axe-core's rules: contrast, names of controls and pictures, headings of tables, in both schemes."""

from pathlib import Path
from typing import Any

import pytest
from browsing import opened
from in_process import hocket

pytestmark = pytest.mark.browser

RING = "ring:4,bandwidth=1GB/s,latency=1us"
COMMANDS = {
    "prediction": ["simulate", "all_reduce", "-t", "dgx-h100:nodes=2", "-s", "1MiB", "--report"],
    "schedule": ["synthesize", "all_gather", "-t", RING, "-s", "1MiB", "--report"],
    "curves": ["simulate", "all_reduce", "-t", RING, "-s", "1KiB..1MiB", "--report"],
    "traffic": ["traffic", "uniform", "-t", RING, "--load", "30%,80%", "--duration", "20us", "--report"],
    "topology": ["topology", "show", "torus:4x4,bandwidth=1GB/s,latency=1us", "-o"],
}


@pytest.mark.parametrize("page", COMMANDS)
def test_axe_finds_nothing(page: str, tmp_path: Path, browser: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    path = tmp_path / "page.html"
    done = hocket(*COMMANDS[page], path)
    assert done.returncode == 0, done.stderr
    for scheme, wide in (("light", 1280), ("dark", 480)):
        with opened(browser, path, color_scheme=scheme, viewport={"width": wide, "height": 800}) as shown:
            found = axe.run(shown)
            assert found.violations_count == 0, found.generate_report()
            assert shown.evaluate("document.documentElement.scrollWidth") == wide
