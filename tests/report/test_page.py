"""Report pages in a real browser: everything is inside the file, every figure is drawn, all can use them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import column, opened

from hocket.report import Cards, Code, Figure, Section, Table, Text, render
from hocket.report.figures import curves, link_timeline, stacked_times
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
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
    busy = np.linspace(0, 1, switched.num_links)[:, None]
    figures = [
        network_picture(NodeNames(line), None),
        network_picture(NodeNames(switched), busy),
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
    with opened(browser, path) as page:
        assert page.locator("h2").all_inner_texts() == ["Numbers & <tags>", "Table", "Figures"]
        assert page.locator("td.number").inner_text() == "3.5 ms"
        assert page.locator("svg.chart").count() == len(figures)
        drawn = page.locator("svg.chart").evaluate_all("all => all.map(each => each.getBBox().width)")
        assert min(drawn) > 100
        # One bar a transfer: two in the timeline.
        assert page.locator("figure").nth(2).locator("[data-tip]").count() == 2
        # Two links of a mesh of three are two lines, those of a switch of four are four.
        assert [page.locator("figure").nth(at).locator("path.line").count() for at in (0, 1)] == [2, 4]


def write(path: Path, *blocks: Any) -> Path:
    path.write_text(render("Title", "what was done", [Section("Section", blocks)]), "utf-8")
    return path


def test_a_narrow_page_needs_no_sideways_scrolling(tmp_path: Path, browser: Any) -> None:
    wide = Table(["machine", "step"], [["one " * 40, "3.5 ms"]])
    path = tmp_path / "report.html"
    path.write_text(render("Title", "what was done", [Section(f"Section{n}", [wide]) for n in range(8)]), "utf-8")
    with opened(browser, path, viewport={"width": 500, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 500


def test_a_heading_stands_above_its_numbers(tmp_path: Path, browser: Any) -> None:
    with opened(browser, write(tmp_path / "x.html", Table(["machine", "step"], [["one", "3.5 ms"]]))) as page:
        aligned = page.eval_on_selector_all("th", "cells => cells.map(cell => getComputedStyle(cell).textAlign)")
        assert aligned == ["left", "right"]


def test_texts_that_begin_with_a_number_align_as_the_others_of_their_column() -> None:
    rows = [["64 measurements of 1 curve", "3.5 ms"], ["none", "-"]]
    page = Table(["what it came to", "time"], rows).html()
    assert 'class="number"' not in page[page.index("64 meas") - 60 : page.index("64 meas")]
    assert page.count('class="number"') == 3  # the heading of the times, and they


def test_tables_sort_by_what_cells_say_and_long_ones_open(tmp_path: Path, browser: Any) -> None:
    times = ["2 ms", "18 us", "-", "1.5 s", "900 ns", "at least 3 ms"]
    names = ["rank 10", "rank 9", "rank 1", "a", "b", "c"]
    more = [["z", f"{at} h"] for at in range(1, 31)]
    table = Table(["who", "time"], [*map(list, zip(names, times, strict=True)), *more])
    with opened(browser, write(tmp_path / "x.html", table)) as page:
        shown = page.locator("tbody tr:visible")
        assert shown.count() == 25
        time = page.get_by_role("button", name="time")
        time.click()
        first = ["900 ns", "18 us", "2 ms", "at least 3 ms", "1.5 s", "1 h"]
        assert column(page.locator("table"), "time")[:6] == first
        assert column(page.locator("table"), "time")[-1] == "-"
        assert page.locator("th").nth(1).get_attribute("aria-sort") == "ascending"
        time.focus()
        page.keyboard.press("Enter")
        assert column(page.locator("table"), "time")[:2] == ["-", "30 h"]
        page.get_by_role("button", name="who").click()
        assert column(page.locator("table"), "who")[3:6] == ["rank 1", "rank 9", "rank 10"]
        page.get_by_role("button", name="Show all 36 rows").click()
        assert shown.count() == 36


def test_colours_follow_the_system_and_the_button(tmp_path: Path, browser: Any) -> None:
    paper = "getComputedStyle(document.querySelector('section')).backgroundColor"
    with opened(browser, write(tmp_path / "x.html", Text("text")), color_scheme="dark") as page:
        dark = page.evaluate(paper)
        page.get_by_role("button", name="Light colours").click()
        light = page.evaluate(paper)
        assert (dark, light) == ("rgb(26, 33, 43)", "rgb(255, 255, 255)")
        # What a file stored, Chromium forgets in 3 of 100 loads of the page: here it forgets it for certain.
        page.evaluate("localStorage.clear()")
        page.reload()
        assert page.evaluate(paper) == light
        page.emulate_media(media="print")
        assert not page.get_by_role("button", name="Dark colours").is_visible()


def test_a_chart_is_read_with_the_pointer_and_with_arrow_keys(tmp_path: Path, browser: Any) -> None:
    chart = stacked_times([("one", {"compute": 2e9, "idle": 1e9}), ("two", {"compute": 1e9})], [3e9, 1e9], "bound")
    with opened(browser, write(tmp_path / "x.html", Figure(chart, "caption"))) as page:
        tip = page.get_by_role("status")
        page.locator("svg.chart [data-tip]").nth(1).hover()
        assert tip.inner_text() == "one: idle 1 ms"
        page.locator("svg.chart").focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        assert tip.inner_text() == "two: compute 1 ms"
        page.keyboard.press("Escape")
        assert not tip.is_visible()


def test_a_command_is_copied_as_it_is_and_no_option_is_broken(tmp_path: Path, browser: Any) -> None:
    words = "hocket simulate all_reduce --topology dgx-h100:nodes=2 -s 64MiB --compute-scale 1/1000 --accept-losses"
    command = " ".join([words] * 6)  # longer than what is shown of a cell that is no command
    table = Table(["run", "made by"], [["one", Code(command)], ["two", Code("hocket view .")]])
    path = write(tmp_path / "x.html", Code(command), Text(f"Try {command}."), table)
    copied = "{ getSelection().selectAllChildren(place); return getSelection().toString().trim(); }"
    lines = "all => all.map(each => each.getClientRects().length)"
    with opened(browser, path, viewport={"width": 420, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 420
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            assert {*page.locator(".option").evaluate_all(lines)} == {1}
        assert page.locator(".option").count() == 3 * 6 * 4
        for place in ("pre", "td code"):
            assert page.locator(place).first.evaluate(f"place => {copied}") == command


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"' onmouseover=alert(3) x='",
    "</title></style></script><script>alert(4)</script>",
    "--><!--provenance--><script>alert(5)</script>",
    "\u202egnp.exe\u2066 \u200f\x1b[31m\x00",
    "javascript:alert(6)",
    "x" * 3_000_000,
)


def test_hostile_names_do_no_harm(tmp_path: Path, browser: Any) -> None:
    blocks: list[Any] = []
    for name in HOSTILE:
        times = stacked_times([(name, {name: 2e9})], [1e9], name)
        blocks += [Text(name), Code(name), Cards([(name, name, name)]), Table([name, "b"], [[name, name]] * 2)]
        blocks += [Figure(times, name), Figure(curves([1, 2], {name: [1.0, 2.0]}, name), name)]
    path = tmp_path / "report.html"
    path.write_text(render(HOSTILE[3], HOSTILE[3], [Section(name, blocks) for name in HOSTILE[:1]]), "utf-8")
    assert path.stat().st_size < 1_500_000
    assert not {"\u202e", "\u2066", "\u200f", "\x1b", "\x00"} & set(path.read_text("utf-8"))
    with opened(browser, path) as page:  # which fails on a dialog
        assert page.locator("script").count() == 1 and page.locator("img").count() == 0
        page.locator("svg.chart [data-tip]").first.hover(position={"x": 4, "y": 4})
        assert HOSTILE[0] in page.get_by_role("status").inner_text()


def test_the_browser_runs_no_other_script_than_the_page_s_own(tmp_path: Path, browser: Any) -> None:
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(write(tmp_path / "x.html", Text("text")).as_uri())
    image = '<img src="data:," onerror="window.ran = 1">'
    page.evaluate("image => document.body.insertAdjacentHTML('beforeend', image)", image)
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran === undefined")
    assert any("Content Security Policy" in each for each in refused)
    page.close()
