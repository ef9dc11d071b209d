"""The page of a synthesized schedule: its arithmetic, and drawn in a real browser."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import opened
from in_process import hocket

from hocket.base.units import format_bandwidth, format_time
from hocket.report.node_names import NodeNames
from hocket.report.schedule_figures import arrivals, spread_picture
from hocket.schedule import Collective, Kind, link_use_over_time, verify
from hocket.synthesizer import synthesize
from hocket.topology import load

ONE = ["Summary", "How the chunks spread", "Links", "Other algorithms"]
RING = "ring:4,bandwidth=1GB/s,latency=1us"
# WCAG's contrast of a rank's number on the rank, at each of the ten levels that it fills up through.
CONTRASTS = """() => {
  const [rank] = document.querySelectorAll("circle.got");
  const context = document.createElement("canvas").getContext("2d");
  const light = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...Array(10).keys()].map((level) => {
    rank.setAttribute("class", `rank got h${level}`);
    const of = (element) => light(getComputedStyle(element).fill);
    const [low, high] = [of(rank), of(rank.nextElementSibling)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""


def test_occupancy_is_what_verification_counts() -> None:
    for spec in (RING, "dgx-a100:nodes=2,gpus=4", "dgx-h100:nodes=2,gpus=4,fabric=fat_tree,leaf=1"):
        for blocking in (False, True):
            topology = load(spec)
            collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, 2**20, 2)
            schedule = synthesize(collective, topology, blocking=blocking)
            busy = link_use_over_time(schedule, 7).sum(axis=1) * schedule.time_ps / 7
            assert busy == pytest.approx(verify(schedule).link_busy_ps, rel=1e-9, abs=10)
            assert link_use_over_time(schedule, 7).max() <= 1 + 1e-9


def test_ranks_fill_up_as_their_deliveries_come() -> None:
    # 4 ranks on a ring, a chunk of 1000 bytes each: 2 us a hop, so neighbours have them at 2 us and the third at 4 us.
    topology = load(RING)
    schedule = synthesize(Collective(Kind.ALL_GATHER, 4, 4000), topology, blocking=True)
    filled = arrivals(schedule, np.array([1.9e6, 2e6, 4e6]))
    assert filled.tolist() == [[0] * 4, [pytest.approx(2 / 3)] * 4, [1] * 4]


def test_512_ranks_spread_chunks_node_by_node() -> None:
    topology = load("dgx-h100:nodes=64")
    schedule = synthesize(Collective(Kind.ALL_GATHER, 512, 2**30), topology)
    expanded = schedule.expand()
    arrived = arrivals(expanded, np.arange(1, 9) * (expanded.time_ps / 8))
    text = spread_picture(NodeNames(topology), expanded.time_ps, link_use_over_time(expanded, 8), arrived).svg
    assert text.count('<rect class="frame h8"') == 64  # the NVLinks of each node, held for 88 % of the time
    assert text.count('<path class="line h9"') == 64  # its NICs to the leaf switches
    # All is there over the whole time, and at the end; an eighth of it about after the first eighth.
    assert len(re.findall(r'<rect class="got h9"[^>]* data-frames="jc[c-j]{6}j"', text)) == 512
    assert len(text) < 400_000


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
        (["all_gather", "-t", RING, "-s", "1KiB..1MiB:32"], ["Summary", "Bus bandwidth", "Above the bound", "Sizes"]),
    ],
)
def test_the_command_writes_a_page_that_browsers_draw(
    arguments: list[str], headings: list[str], tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "report.html"
    done = hocket("synthesize", *arguments, "--report", path)
    assert done.returncode == 0, done.stderr
    assert f"wrote {path}" in done.stdout
    with opened(browser, path) as page:
        assert page.locator("figure svg.chart").count() == page.locator("figure").count() > 1
        assert page.locator("h2").all_inner_texts() == [*headings, "Provenance"]


@pytest.mark.browser
def test_the_animation_moves(tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "report.html"
    done = hocket("synthesize", "all_gather", "-t", RING, "-s", "1MiB", "--report", path, "--json", tmp_path / "x.json")
    assert done.returncode == 0, done.stderr
    form = json.loads((tmp_path / "x.json").read_text())
    with opened(browser, path) as page:
        cards = dict(
            zip(*(page.locator(f".card .{part}").all_inner_texts() for part in ("label", "value")), strict=True)
        )
        assert cards["Time"] == format_time(form["time_ps"]) and cards["Transfers"] == str(form["transfers"])
        assert cards["busbw"] == format_bandwidth(form["busbw_bytes_per_s"])
        ranks, slider = page.locator("circle.got"), page.get_by_role("slider")
        slider.fill("1")
        assert page.locator("circle.got.h9").count() == 0 < ranks.count() == 4
        assert page.locator("output").inner_text().startswith("until ")
        slider.fill("60")
        assert page.locator("circle.got.h9").count() == 4


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_numbers_of_ranks_can_be_read_however_full_they_are(scheme: str, tmp_path: Path, browser: Any) -> None:
    path = tmp_path / "report.html"
    done = hocket("synthesize", "all_gather", "-t", RING, "-s", "1MiB", "--report", path)
    assert done.returncode == 0, done.stderr
    with opened(browser, path, color_scheme=scheme) as page:
        contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) == 10 and min(contrasts) > 4.5, contrasts
