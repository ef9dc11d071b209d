"""A trace whose names are markup, commands of terminals, text of both directions, and of many megabytes: no harm comes
of it to a terminal, a page, a table, or the memory."""

from pathlib import Path
from typing import Any

import pytest
from browsing import opened
from hostile_files import obeyed
from in_process import hocket

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
TERMINAL = "\u202egnp.exe\u2066\x1b[2J\x1b]0;owned\x07\r\n\x9b31m"
HUGE = 20_000_000
RING = "ring:2,bandwidth=1GB/s,latency=1us"
COMMANDS = {
    "info": ["trace", "info", "traces", "--json", "info.json"],
    "validate": ["trace", "validate", "traces", "--json", "validate.json"],
    "graph": ["trace", "graph", "traces/trace.0.et", "-o", "graph.dot"],
    "timeline": ["trace", "timeline", "traces", "-t", RING, "-o", "predicted.json"],
    "simulate": [
        *("simulate", "traces", "-t", RING, "--report", "page.html", "--json", "prediction.json"),
        *("--timeline", "timeline.json", "--tables", "tables"),
    ],
    "step": ["step", "traces", "-t", RING, "--report", "step.html", "--json", "step.json"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    builders = []
    for _ in range(2):
        builder = TraceBuilder()
        last: list[int] = []
        for name in (MARKUP + TERMINAL, "=cmd()|x", "x" * HUGE, TERMINAL * (HUGE // len(TERMINAL) // 4)):
            last = [builder.add_comp(name, duration_ns=5_000, deps=last)]
        builder.add_collective(MARKUP + TERMINAL, CollectiveType.ALL_REDUCE, 1 << 20, deps=last)
        builders.append(builder)
    write_traces(folder / "traces", TraceSet(tuple(builder.build() for builder in builders)))
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_obeyed_and_nothing_grows(name: str, folder: Path) -> None:
    before = {*folder.rglob("*")}
    done = hocket(*COMMANDS[name], cwd=folder)
    assert done.returncode == 0, done.stderr[:2000]
    assert len(done.stdout + done.stderr) < 20_000
    assert not [*obeyed("", done.stdout + done.stderr)]
    made = [path for path in folder.rglob("*") if path.is_file() and path not in before]
    assert made
    for path in made:
        assert path.stat().st_size < 500_000, path
        assert not [*obeyed(path.name, path.read_text("utf-8"))], path


@pytest.mark.browser
@pytest.mark.parametrize("name", ["simulate", "step"])
def test_pages_show_the_names_as_text(name: str, folder: Path, tmp_path: Path, browser: Any) -> None:
    words = COMMANDS[name]
    path = tmp_path / "page.html"
    done = hocket(*words[: words.index("--report")], "--report", path, cwd=folder)
    assert done.returncode == 0, done.stderr[:2000]
    with opened(browser, path, viewport={"width": 900, "height": 800}) as page:  # which fails on a dialog
        assert page.locator("script").count() == 2 and page.locator("img").count() == 0  # its own, and its request
        assert page.evaluate("document.documentElement.scrollWidth") == 900
