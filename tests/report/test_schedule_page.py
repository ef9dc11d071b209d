"""The page of a synthesized schedule: its arithmetic, and drawn in a real browser."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import hocket

from hocket.report.schedule_figures import arrivals, link_occupancy
from hocket.schedule import Collective, Kind, verify
from hocket.synthesizer import synthesize
from hocket.topology import load

ONE = ["In numbers", "How the chunks spread", "Links", "Other algorithms"]
RING = "ring:4,bandwidth=1GB/s,latency=1us"


def test_occupancy_is_what_verification_counts() -> None:
    for spec in (RING, "dgx-a100:nodes=2,gpus=4"):
        for blocking in (False, True):
            topology = load(spec)
            collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, 2**20, 2)
            schedule = synthesize(collective, topology, blocking=blocking)
            busy = link_occupancy(schedule, 7).sum(axis=1) * schedule.time_ps / 7
            assert busy == pytest.approx(verify(schedule).link_busy_ps, rel=1e-9, abs=1)


def test_ranks_fill_up_as_their_deliveries_come() -> None:
    # 4 ranks on a ring, a chunk of 1000 bytes each: 2 us a hop, so neighbours have them at 2 us and the third at 4 us.
    topology = load(RING)
    schedule = synthesize(Collective(Kind.ALL_GATHER, 4, 4000), topology, blocking=True)
    filled = arrivals(schedule, np.array([1.9e6, 2e6, 4e6]))
    assert filled.tolist() == [[0] * 4, [pytest.approx(2 / 3)] * 4, [1] * 4]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("arguments", "headings"),
    [
        (
            ["all_reduce", "-t", RING, "-s", "1MiB"],
            ONE,
        ),
        (
            ["all_gather", "-t", "dgx-a100:nodes=2,gpus=4", "-s", "1MiB"],
            ONE,
        ),
        (["all_gather", "-t", RING, "-s", "1KiB..1MiB:32"], ["Bus bandwidth", "Above the bound", "Sizes"]),
    ],
)
def test_the_command_writes_a_page_that_browsers_draw(
    arguments: list[str], headings: list[str], tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "report.html"
    done = hocket("synthesize", *arguments, "--report", path)
    assert done.returncode == 0, done.stderr
    assert f"wrote {path}" in done.stdout
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    figures = page.locator("figure").count()
    page.wait_for_function(f"document.querySelectorAll('.js-plotly-plot .main-svg').length >= {figures}")
    assert problems == []
    assert page.locator("h2").all_inner_texts() == headings
    page.close()


@pytest.mark.browser
def test_the_animation_moves(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "report.html"
    assert hocket("synthesize", "all_gather", "-t", RING, "-s", "1MiB", "--report", path).returncode == 0
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".slider-container")
    last = """async () => {
        const plot = document.querySelector('.js-plotly-plot');
        const before = plot.data.find(trace => trace.marker && trace.marker.cmax === 1).marker.color.slice();
        await Plotly.animate(plot, ['59'], {mode: 'immediate', frame: {duration: 0}});
        const after = plot.data.find(trace => trace.marker && trace.marker.cmax === 1).marker.color;
        return [before, after];
    }"""
    before, after = page.evaluate(last)
    assert all(share < 1 for share in before)
    assert after == [1, 1, 1, 1]
    page.close()
