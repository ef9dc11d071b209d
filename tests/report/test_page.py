"""Report pages in a real browser: everything is inside the file and every figure is drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.report import Cards, Code, Figure, Section, Table, Text, render
from hocket.report.figures import curves, link_timeline, stacked_times, topology_picture
from hocket.schedule import Collective, Kind, Schedule
from hocket.topology import Topology, load

pytestmark = pytest.mark.browser


def broadcast_on_a_line(topology: Topology) -> Schedule:
    """Chunk 0 from rank 0 over links 0 -> 1 and 1 -> 2, one microsecond each."""
    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    links = [ends.index((0, 1)), ends.index((1, 2))]
    return Schedule(
        collective=Collective(Kind.BROADCAST, 3, 1000),
        topology=topology,
        route_offset=np.array([0, 1, 2], np.int64),
        route_links=np.array(links, np.int32),
        chunk=np.zeros(2, np.int32),
        route=np.array([0, 1], np.int32),
        reduce=np.zeros(2, np.bool_),
        start_ps=np.array([0, 1_000_000], np.int64),
        finish_ps=np.array([1_000_000, 2_000_000], np.int64),
        timed=True,
        blocking=False,
        bound=None,
        generator="by hand",
        seed=None,
    )


def test_page_is_self_contained_and_draws_every_figure(tmp_path: Path, browser: Any) -> None:
    line = load("mesh:3,bandwidth=1GB/s,latency=0ns")
    switched = load("switch:4,bandwidth=1GB/s,latency=1us")
    figures = [
        topology_picture(line),
        topology_picture(switched, np.linspace(0, 1, switched.num_links)),
        link_timeline(broadcast_on_a_line(line)),
        stacked_times([("machine", {"compute": 2e9, "communication": 1e9})], [2.5e9], "bound"),
        curves([1024, 1 << 20], {"ring": [1.0, 10.0], "bound": [2.0, 12.0]}, "GB/s", "bound"),
    ]
    sections = [
        Section("Numbers & <tags>", [Text("a < b"), Cards([("time", "3 ms", "bound 2 ms")]), Code("$ hocket --help")]),
        Section("Table", [Table(["machine", "step"], [["one", "3.5 ms"]])]),
        Section("Figures", [Figure(figure, "caption") for figure in figures]),
    ]
    path = tmp_path / "report.html"
    path.write_text(render("Title", "what was done", sections), encoding="utf-8")

    page = browser.new_page()
    problems: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(f"document.querySelectorAll('.main-svg').length >= {len(figures)}")
    assert problems == []
    assert requests == [path.as_uri()]
    assert page.locator("h2").all_inner_texts() == ["Numbers & <tags>", "Table", "Figures"]
    assert page.locator("td.number").inner_text() == "3.5 ms"
    # One bar a transfer: two in the timeline.
    assert page.locator("figure").nth(2).locator(".bars .point").count() == 2
    page.close()


def test_a_narrow_page_needs_no_sideways_scrolling(tmp_path: Path, browser: Any) -> None:
    wide = Table(["machine", "step"], [["one " * 40, "3.5 ms"]])
    path = tmp_path / "report.html"
    path.write_text(render("Title", "what was done", [Section(f"Section{n}", [wide]) for n in range(8)]), "utf-8")
    page = browser.new_page(viewport={"width": 500, "height": 800})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 500
    page.close()


def test_a_heading_stands_above_its_numbers(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "report.html"
    path.write_text(render("Title", "", [Section("S", [Table(["machine", "step"], [["one", "3.5 ms"]])])]), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    aligned = page.eval_on_selector_all("th", "cells => cells.map(cell => getComputedStyle(cell).textAlign)")
    assert aligned == ["left", "right"]
    page.close()
