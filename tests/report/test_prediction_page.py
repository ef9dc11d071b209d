"""The pages of a prediction and of curves, drawn in a real browser: their numbers are those of the JSON."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import in_process
import numpy as np
import pytest
from browsing import column, opened, text_of

import hocket
from hocket.base.errors import FormatError
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.report.curves_page import curves_page
from hocket.report.prediction_page import prediction_page
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import (
    SimulatedFacts,
    alike,
    prediction_json,
    rank_shares,
    rank_table,
    ranks_called,
    sort_table,
    stored_facts,
    write_prediction,
)
from hocket.topology import load

SWITCH = "switch:3,bandwidth=1GB/s,latency=1us"


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    builders = []
    for duration in (1_000, 2_000, 6_000):
        builder = TraceBuilder()
        work = builder.add_comp("step 1", duration_ns=duration)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 3_000, deps=[work])
        builders.append(builder)
    traces = TraceSet(tuple(builder.build() for builder in builders))
    return simulate_traces(traces, load(SWITCH), fidelity=Fidelity(link_bins=16, latencies=True))


def test_the_timeline_s_shares_are_the_rank_table_s_times(prediction: Prediction) -> None:
    ranks = rank_table(prediction)
    overlapped, waiting = ranks["overlapped_ps"], ranks["exposed_wait_ps"]
    expected = np.stack(
        [
            ranks["compute_ps"] - overlapped,
            overlapped,
            ranks["communication_ps"] - overlapped - waiting,
            waiting,
            ranks["kernel_ps"],
            prediction.time_ps - ranks["finish_ps"] + ranks["idle_ps"],
        ]
    )
    for bins in (1, 7, 240):
        shares = rank_shares(prediction, bins)
        assert shares.sum(axis=0) == pytest.approx(np.ones((bins, 3)))
        assert shares.mean(axis=1) * prediction.time_ps == pytest.approx(expected, abs=1)
    # Rank 0 computes for 1 of 18 us, then waits for rank 2 up to 6 us.
    first = rank_shares(prediction, 18)[:, :, 0].argmax(axis=0)
    assert first.tolist() == [0, *[3] * 5, *[2] * 12]


def test_ranks_that_do_alike_are_one_row_and_many_rows_follow_each_other() -> None:
    values = np.array([[1, 2, 1, 2, 3]])
    assert [group.name for group in alike(values, 3)] == ["ranks 0,2", "ranks 1,3", "rank 4"]
    assert [group.name for group in alike(values, 2)] == ["ranks 0-2", "ranks 3-4"]
    assert ranks_called(range(0, 1000, 2)) == "rank 0 and 499 more"


@pytest.mark.parametrize("model", ["congestion", "bound"])
def test_the_page_of_the_json_is_the_page_of_the_prediction(model: str, tmp_path: Path) -> None:
    ranks = 40  # more than a timeline has rows
    builders = [TraceBuilder() for _ in range(ranks)]
    for rank, builder in enumerate(builders):
        work = builder.add_comp("step 1", duration_ns=1000 + 97 * rank)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 40_000, deps=[work])
    traces = TraceSet(tuple(builder.build() for builder in builders))
    found = simulate_traces(traces, load(f"switch:{ranks},bandwidth=1GB/s,latency=1us"), fidelity=Fidelity(model))
    write_prediction(found, tmp_path / "one.json")
    page = prediction_page(SimulatedFacts(found))
    assert prediction_page(stored_facts(tmp_path / "one.json")) == page
    assert ("Every rank" in page) == (model == "congestion")


def test_what_is_wrong_in_a_json_is_said_before_it_is_drawn(prediction: Prediction, tmp_path: Path) -> None:
    wrong: dict[str, Callable[[dict[str, Any]], Any]] = {
        "timeline": lambda form: form.pop("timeline"),  # as written before there was one
        "columns of different lengths": lambda form: form["ranks"]["idle_ps"].pop(),
        "its links are not those": lambda form: form["links"]["bandwidth"].__setitem__(0, 2),
        "a wait for a rank that is not there": lambda form: form["caused_waits"]["rank"].__setitem__(0, 3),
        "not its ranks": lambda form: form["timeline"]["rows"].pop(),
        "matching regex": lambda form: form["timeline"]["rows"][0].update(parts="<b>"),
        "a collective of no sort": lambda form: form["collectives"][0].update(kind="all_gather"),
        ">= 0": lambda form: form.update(time_ps=-1),
    }
    for said, change in wrong.items():
        form = prediction_json(prediction)
        change(form)
        (tmp_path / "wrong.json").write_text(json.dumps(form))
        with pytest.raises(FormatError, match=f"wrong.json: .*{said}.*simulate again"):
            stored_facts(tmp_path / "wrong.json")


ADVISED = {
    "hocket synthesize all_reduce -t dgx-h100:nodes=1,gpus=2,nvls=1 -s 64KiB --for device -o bundle/": (
        "dgx-h100:gpus=2",
        "64KiB",
        "library",
    ),
    "hocket synthesize all_reduce -t mesh:2x2,bandwidth=50GB/s,latency=500ns -s 1MiB -o all_reduce.schedule": (
        "mesh:2x2,bandwidth=50GB/s,latency=500ns",
        "1MiB",
        "ring",
    ),
}


@pytest.mark.parametrize("command", ADVISED)
def test_the_command_that_is_advised_can_be_typed(command: str, tmp_path: Path) -> None:
    topology, size, algorithm = ADVISED[command]
    prediction = hocket.simulate("all_reduce", topology, size, algorithm=algorithm).prediction
    assert command in text_of(prediction_page(SimulatedFacts(prediction)))
    done = in_process.hocket(*command.split()[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.browser
def test_a_prediction_has_advice_timeline_path_collectives_and_links(
    prediction: Prediction, tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "page.html"
    path.write_text(prediction_page(SimulatedFacts(prediction)), "utf-8")
    with opened(browser, path) as page:
        assert page.locator("h2").all_inner_texts() == [
            "Summary",
            "Timeline",
            "Steps",
            "Collectives",
            "Ranks",
            "Critical path",
            "Topology and links",
        ]
        # 6 us of computation and 4 steps of the ring, each 2 us of latency and 1 us for 1000 B.
        form = prediction_json(prediction)
        assert page.locator(".card .value").first.inner_text() == "18 us" == format_time(form["time_ps"])
        advice = page.locator(".advice").all_inner_texts()
        assert any(text.startswith("all_reduce takes 67% of the critical path") for text in advice)
        assert any("Even out the work: rank 2 has more of it" in text for text in advice)
        # Rank 2 kept the others waiting for 5 us and 4 us.
        late = page.get_by_role("table", name="ranks that others waited for")
        assert column(late, "waits caused by each") == ["9 us"]
        sorts = sort_table(prediction)
        table = page.get_by_role("table", name="collectives by sort")
        said = [format_bandwidth(sorts["busbw"][0]), format_bytes(3000), f"{sorts['ratio'][0]:.3f}"]
        assert [column(table, name)[0] for name in ("busbw", "size", "ratio")] == said
        # The slider leads through the time: at first rank 0 alone begins to send, after 1 us.
        slider = page.get_by_role("slider")
        assert page.locator("path.line.h0[data-frames]").count() == 0
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("output").inner_text() == "0 ps on"
        assert page.locator("path.line.h0[data-frames]").count() == 2
        page.get_by_role("button", name="Play").click()
        page.locator("output", has_text="us on").wait_for()


@pytest.mark.browser
def test_curves_have_a_figure_of_times_and_one_of_bandwidths(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "page.html"
    result = hocket.simulate("all_reduce", SWITCH, "1000..64000:8", algorithm="ring")
    path.write_text(curves_page("all_reduce", result.curves), "utf-8")
    with opened(browser, path) as page:
        assert page.locator("svg.chart").count() == 2
        assert page.locator("h2").all_inner_texts() == ["Summary", "Time", "Bus bandwidth", f"ring on {SWITCH}"]
        columns = result.curves[0].columns
        assert column(page.locator("table"), "busbw") == [format_bandwidth(each) for each in columns["busbw"].tolist()]
        tips = page.locator("svg.chart").nth(1).locator("[data-tip]")
        assert tips.count() == len(columns["busbw"])
        assert f"{columns['busbw'][0] / 1e9:.4g} GB/s" in (tips.first.get_attribute("data-tip") or "")


@pytest.mark.browser
def test_a_page_of_1024_ranks_is_small_and_quick(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "page.html"
    hocket.simulate("all_reduce", "dgx-h100:nodes=128", "64MiB", algorithm="hierarchical", report=path)
    assert path.stat().st_size < 1_500_000
    text = text_of(path.read_text("utf-8"))
    assert re.search(r"hocket simulate all_reduce --topology dgx-h100:nodes=128", text)
    assert "rank → NVSwitch (nvlink): 1,024 links" in text and "switch 1024" not in text
    with opened(browser, path, viewport={"width": 1280, "height": 900}) as page:
        # Each node is a box with its 8 ranks, joined by one line to the leaf switches.
        assert page.locator("rect.frame[data-frames]").count() == 128
        assert page.locator("path.line[data-frames]").count() >= 128
        assert page.get_by_role("heading", name="Provenance").is_visible()
        assert (
            page.evaluate("performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart") < 10_000
        )
