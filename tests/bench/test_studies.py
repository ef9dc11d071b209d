"""The what-if studies of examples/studies: each runs, and what the documentation says of one is what it finds."""

from pathlib import Path

import pytest

import hocket
from hocket.bench.studies import COST, STUDIES, study_lines

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "studies").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_some_points_of_each_study(file: Path, tmp_path: Path) -> None:
    some = tmp_path / file.name
    some.write_text(file.read_text() + "random: {points: 6, seed: 5}\n")
    swept = hocket.sweep(some, output=tmp_path / "swept")
    wrong = swept.results.get("error", swept.results.get("skipped"))
    assert len(wrong) == 6 and (wrong == "").sum() >= 2
    lines = study_lines(file.stem, swept.results)
    assert len(lines) >= 2 and f"[examples/studies/{file.name}]" in (ROOT / "docs" / "studies.md").read_text()
    page = (tmp_path / "swept" / "report.html").read_text()
    assert "<svg" in page


def test_each_study_has_a_table() -> None:
    assert {file.stem for file in FILES} == {*STUDIES, COST}


def test_the_page_says_what_a_study_finds(tmp_path: Path) -> None:
    swept = hocket.sweep(ROOT / "examples" / "studies" / "torus_or_switch.yaml", output=tmp_path)
    found = "\n".join(line.rstrip() for line in study_lines("torus_or_switch", swept.results))
    assert found in (ROOT / "docs" / "studies.md").read_text()
