"""JSON of every command with a page, shown by `hocket view` as that page."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmark_outputs import new_table
from browsing import column, text_of
from in_process import hocket
from viewing import asked, viewed

from hocket.api.view.reports import REPORTS
from hocket.base.errors import FormatError
from hocket.base.units import format_time

RING = "ring:4,bandwidth=1GB/s,latency=1us"
NODES = "node:accelerators=2,link=pcie4x16,nodes=2"
TRACES = str(Path(__file__).parents[2] / "examples" / "traces")
MEASURED = new_table([(2**at, 20 + 2**at / 1e5) for at in range(10, 30, 2)])
COMMANDS = {
    "traffic": ["traffic", "C2", "-t", NODES, "--load", "20%,60%", "--duration", "20us"],
    "step": ["step", TRACES, "-t", RING],
    "validate": ["validate", TRACES, "-t", RING, "--fit", "odd"],
    "schedule": ["synthesize", "all_gather", "-t", RING, "-s", "1MiB", "--chunks", "2"],
    "sizes": ["synthesize", "all_gather", "-t", RING, "-s", "1KiB..1MiB:32", "--chunks", "1"],
    "groups": [
        "synthesize",
        "all_gather",
        "-t",
        RING,
        "-s",
        "1MiB",
        "--chunks",
        "1",
        "--group",
        "0,1",
        "--group",
        "2,3",
    ],
    "programs": [
        "synthesize",
        "all_reduce",
        "-t",
        "dgx-h100:gpus=2",
        "-s",
        "64KiB",
        "--for",
        "device",
        "--explain",
        "-o",
        "bundle",
    ],
    "curves": ["simulate", "all_reduce", "-t", "dgx-h100", "-s", "1KiB..1MiB:32"],
    "calibrate": ["calibrate", "rows.txt", "-t", "dgx-h100:nodes=2"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each command's JSON and its page."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "rows.txt").write_text(MEASURED)
    for name, command in COMMANDS.items():
        done = hocket(*command, "--json", f"{name}.json", "--report", f"{name}.html", cwd=folder)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with viewed(folder) as (_, address):
        yield address


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_the_page_of_the_report(name: str, folder: Path, address: str) -> None:
    status, _, shown = asked(address, f"/run/{name}.json")
    assert status == 200 and "no report can be made of it" not in shown
    (*written, _), (_, *sections) = (  # without how it was made, which is told first here
        re.findall(r"</h2>(.*?)</section>", page, re.DOTALL) for page in ((folder / f"{name}.html").read_text(), shown)
    )
    assert len(written) > 2 and sections == written


@pytest.mark.parametrize("name", COMMANDS)
def test_whoever_wrote_it_does_no_harm(name: str, folder: Path, tmp_path: Path) -> None:
    form = json.loads((folder / f"{name}.json").read_text())
    content, path = REPORTS[form["format"]], tmp_path / "hostile.json"
    refused = 0
    for key in form.keys() - {"request", "format"}:
        for value in (None, -1, 2**61, "<script>alert(1)</script>", [{}], {}):
            path.write_text(json.dumps(form | {key: value}))
            try:
                assert "<script>alert" not in content(path).html()
            except FormatError as error:
                assert str(path) in str(error)
                refused += 1
    assert refused >= 6


SAID = {
    "curves": r"its collectives in the time .*|NCCL [\d.]+ on .*|by public measurements, .*| +1 MiB .* 90 % within .*",
    "calibrate": r"note: (.*)|  note: (.*)| +64 MiB +(.*?)  (.*) to (.*)",
}


@pytest.mark.parametrize("name", SAID)
def test_what_the_terminal_says_of_its_numbers_is_on_the_page(name: str, folder: Path) -> None:
    done = hocket(*COMMANDS[name], cwd=folder)
    said = [re.fullmatch(SAID[name], line.removeprefix("assumed: ")) for line in done.stdout.splitlines()]
    words = [word.strip() for found in said if found for word in found.groups() or [found[0]] if word]
    page = text_of((folder / f"{name}.html").read_text())
    assert len(words) >= 3 and [word for word in words if word not in page] == []


def test_runners_up_are_told_by_size(folder: Path) -> None:
    (row,) = json.loads((folder / "programs.json").read_text())["rows"]
    shown = (folder / "programs.html").read_text()
    (details,) = re.findall(r"<details>.*?</details>", shown, re.DOTALL)
    assert f"{row['simulated']} of {row['programs']} programs were simulated" in details
    assert len(row["tried"]) > 1
    gain = f"{row['stock']['time_ps'] / row['time_ps']:.2f}"
    headline = json.loads((folder / "programs.json").read_text())["headline"]
    assert headline.endswith(f": quicker than the stock library at 1 of 1 sizes, by up to {gain} times")
    for tried in row["tried"]:
        assert tried["source"] in details and format_time(tried["time_ps"]) in details


@pytest.mark.browser
@pytest.mark.parametrize("wide", [800, 1400])
def test_the_list_of_runs_has_room_for_what_they_came_to(wide: int, address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": wide, "height": 900})
    page = context.new_page()
    page.goto(f"http://{address}/")
    table = page.get_by_role("table", name="runs")
    assert table.evaluate("each => each.parentElement.scrollWidth <= each.parentElement.clientWidth")
    heights = table.locator("tbody tr").evaluate_all("rows => rows.map((row) => row.offsetHeight)")
    assert len(heights) == len(COMMANDS) and max(heights) < 150
    assert page.get_by_role("columnheader", name="made by").is_visible() == (wide == 1400)
    context.close()


def _traffic(form: dict[str, Any]) -> list[str]:
    return [format_time(round(point["mean_ps"])) for point in form["points"]]


def _step(form: dict[str, Any]) -> list[str]:
    return [*(f"{part['share']:.1%}" for part in form["parts"]), "100.0%"]


def _validate(form: dict[str, Any]) -> list[str]:
    return [format_time(row["recorded_ps"]) for row in form["predicted"]["near"]]


def _calibrate(form: dict[str, Any]) -> list[str]:
    return [f"{latency:.4g} us" for latency in form["curves"][0]["latency_us"]]


def _schedule(form: dict[str, Any]) -> list[str]:
    means = (sum(link["ppm"]) / len(link["ppm"]) / 1e6 for link in form["picture"]["held"])
    return [f"{mean:.1%}" for mean in sorted(means, reverse=True)]


def _sizes(form: dict[str, Any]) -> list[str]:
    return [format_time(one["time_ps"]) for window in form["windows"] for one in window["sizes"]]


def _groups(form: dict[str, Any]) -> list[str]:
    return [format_time(one["time_ps"]) for one in form["groups"]]


def _programs(form: dict[str, Any]) -> list[str]:
    return [format_time(row["stock"]["time_ps"]) for row in form["rows"]]


def _curves(form: dict[str, Any]) -> list[str]:
    return [format_time(time_ps) for time_ps in form["curves"][0]["rows"]["time_ps"]]


#: A column of a table of the page by the title of its section, and what stands there by the JSON.
NUMBERS: dict[str, tuple[str, str, Callable[[dict[str, Any]], list[str]]]] = {
    "traffic": ("Every point", "mean latency", _traffic),
    "step": ("Where the time goes", "share", _step),
    "validate": ("Collectives", "recorded", _validate),
    "programs": ("Sizes", "stock", _programs),
    "schedule": ("Links", "held", _schedule),
    "sizes": ("Sizes", "time", _sizes),
    "groups": ("All at once", "time", _groups),
    "curves": ("library on dgx-h100", "time", _curves),
    "calibrate": ("all_reduce on 16 ranks of 2 nodes", "latency", _calibrate),
}


@pytest.mark.browser
@pytest.mark.parametrize("name", COMMANDS)
def test_browsers_show_the_numbers_of_the_json(name: str, folder: Path, address: str, browser: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    title, heading, told = NUMBERS[name]
    context = browser.new_context(color_scheme="dark", viewport={"width": 480, "height": 900})
    page, problems = context.new_page(), list[str]()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"http://{address}/run/{name}.json")
    section = page.locator("section", has=page.get_by_role("heading", name=title, exact=True))
    assert column(section.locator("table").last, heading) == told(json.loads((folder / f"{name}.json").read_text()))
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    for wide in (480, 1280, 1400):
        page.set_viewport_size({"width": wide, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == wide
    cut = page.evaluate("[...document.querySelectorAll('.rows')].filter((each) => each.scrollWidth > each.clientWidth)")
    assert (problems, cut) == ([], [])  # a window of 1400 pixels has room for every table
    context.close()
