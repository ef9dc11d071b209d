"""The page of a sweep over jobs in a real browser."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import opened

import hocket

pytestmark = pytest.mark.browser

TINY = {
    **{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16},
    **{"intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 512},
}


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "config.json").write_text(json.dumps(TINY))
    (folder / "jobs.yaml").write_text(
        f"models: '{folder}/config.json'\ntopology: [dgx-h100, dgx-b200]\nglobal_batch: 8\n"
        "plans: {tp: all, pp: [1, 2, 3]}\n"
    )
    hocket.sweep(folder / "jobs.yaml", output=folder / "swept")
    return folder / "swept" / "report.html"


def test_every_figure_is_drawn_tables_sort_and_points_open(page_path: Path, browser: Any) -> None:
    with opened(browser, page_path, viewport={"width": 1200, "height": 900}, fragment="#point3") as page:
        # Speed against memory, time against ranks, and where the time goes of each of the two topologies.
        heads = ["Summary", "The best of each topology", "Speed against memory", "Time against ranks"]
        rest = ["Where the time goes", "Every point", "Skipped", "Provenance"]
        assert page.locator("h2").all_inner_texts() == [*heads, *rest]
        assert page.locator("svg.chart").count() == 4
        assert "tp 4, pp 1, dp 2" in page.locator("details[open] summary").inner_text()
        assert "hocket generate llm" in page.locator("details[open] pre").inner_text()

        table = page.locator("section", has=page.get_by_role("heading", name="Every point")).locator("table").first
        at = table.locator("th").all_inner_texts().index("memory")
        for reverse in (False, True):
            table.get_by_role("button", name="memory").click()
            cells = table.locator(f"tbody td:nth-child({at + 1})")
            keys = cells.evaluate_all("cells => cells.map(c => +c.dataset.key)")
            assert len(keys) > 8 and keys == sorted(keys, reverse=reverse)

        assert "does not divide the 8 ranks" in page.locator("summary", has_text="impossible plans").inner_text()
        page.locator("svg.chart [data-opens=point1]").first.click()
        assert page.locator("details#point1").get_attribute("open") is not None
        assert page.evaluate("document.documentElement.scrollWidth") == 1200


def test_the_page_can_be_asked_again(page_path: Path) -> None:
    assert hocket.request_in(page_path).to_plain()["verb"] == "sweep"


COLLECTIVES = """\
zip: {network: [ring, switch], shape: ["ring:8", "switch:8"]}
parameters: {left: [1, 0.5]}
topology: "{shape},bandwidth={50 * left}GB/s,latency=500ns"
collective: [all_reduce, all_to_all]
size: 1KiB..64MiB:16
algorithm: [ring, direct]
model: analytical
plots:
  - {x: size_bytes, y: time_ps, by: [network, algorithm, left], each: collective, log: true}
  - {kind: heat, x: size_bytes, y: network, value: algorithm, title: The fastest}
  - {kind: heat, x: left, y: network, value: time_ps, log: true}
  - {kind: pareto, x: bound_ps, y: time_ps, by: network, log: true}
"""


def test_figures_of_collectives_say_what_the_results_say(tmp_path: Path, browser: Any) -> None:
    (tmp_path / "sweep.yaml").write_text(COLLECTIVES)
    results = hocket.sweep(tmp_path / "sweep.yaml", output=tmp_path / "swept").results
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    path = tmp_path / "swept" / "report.html"
    for scheme, wide in (("light", 1280), ("dark", 480)):
        with opened(browser, path, color_scheme=scheme, viewport={"width": wide, "height": 900}) as page:
            assert page.locator("svg.chart").count() == 5
            cells = page.locator("section", has=page.get_by_role("heading", name="The fastest")).locator(
                "rect[data-tip]"
            )
            said = dict(
                tip.rsplit("\nalgorithm ", 1) for tip in cells.evaluate_all("all => all.map(c => c.dataset.tip)")
            )
            found = axe.run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") == wide
    for network in ("ring", "switch"):
        for size, words in ((1 << 10, "1 KiB"), (64 << 20, "64 MiB")):
            cell = (results["network"] == network) & (results["size_bytes"] == size) & (results["error"] == "")
            fastest = results["algorithm"][cell][results["time_ps"][cell].argmin()]
            assert said[f"size_bytes {words}\nnetwork {network}"] == fastest
