"""The pages of a prediction and of curves, drawn in a real browser."""

from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.report.curves_page import curves_page
from hocket.report.prediction_page import prediction_page
from hocket.simulator import Fidelity, simulate_traces
from hocket.topology import load

pytestmark = pytest.mark.browser

SWITCH = "switch:3,bandwidth=1GB/s,latency=1us"


def problems_of(page: Any, path: Path, figures: int) -> list[str]:
    """What the browser complains about while it draws the page."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: problems.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.wait_for_function(f"document.querySelectorAll('.js-plotly-plot .main-svg').length >= {figures}")
    return problems


def test_a_prediction_has_ranks_path_collectives_and_links(tmp_path: Path, browser: Any) -> None:
    builders = []
    for duration in (1_000, 2_000, 6_000):
        builder = TraceBuilder()
        work = builder.add_comp("step 1", duration_ns=duration)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 3_000, deps=[work])
        builders.append(builder)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    prediction = simulate_traces(traces, load(SWITCH), fidelity=Fidelity(link_bins=16, latencies=True))
    path = tmp_path / "page.html"
    path.write_text(prediction_page(prediction), "utf-8")
    page = browser.new_page()
    assert problems_of(page, path, figures=3) == []
    assert page.locator("h2").all_inner_texts() == [
        "In numbers",
        "Steps",
        "Ranks",
        "Critical path",
        "Collectives",
        "Links",
    ]
    # 6 us of computation and 4 steps of the ring, each 2 us of latency and 1 us for 1000 B.
    assert page.locator(".card .value").first.inner_text() == "18 us"
    # Rank 2 kept the others waiting for 5 us and 4 us.
    assert "9 us" in page.locator("section", has_text="Ranks that others waited for").inner_text()
    page.close()


def test_curves_have_a_figure_of_times_and_one_of_bandwidths(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "page.html"
    result = hocket.simulate("all_reduce", SWITCH, "1000..64000:8", algorithm="ring")
    path.write_text(curves_page("all_reduce", result.curves), "utf-8")
    page = browser.new_page()
    assert problems_of(page, path, figures=2) == []
    assert page.locator("h2").all_inner_texts() == ["Time", "Bus bandwidth", f"ring on {SWITCH}"]
    page.close()
