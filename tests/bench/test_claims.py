"""`hocket bench claims`: every claim once, verdicts that follow from what is measured, and what is kept."""

import json
import os
import signal
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

import in_process
import pytest

from hocket.api.bench.request import ClaimsBench
from hocket.base.errors import RequestError
from hocket.bench.claims.claim import Claim, ClaimStatus, judge
from hocket.bench.claims.kept import read_verdicts
from hocket.bench.claims.measures import synthesized
from hocket.bench.claims.page import evidence_page
from hocket.bench.claims.papers import PAPERS
from hocket.bench.claims.pictures import pictures
from hocket.bench.claims.registry import CLAIMS, chosen
from hocket.bench.claims.tacos_networks import mesh

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence.json"
hocket = partial(in_process.hocket, "bench", "claims")


def claim(number: str) -> Claim:
    (found,) = chosen(number)
    return found


def test_every_claim_is_there_once() -> None:
    wanted = [f"{paper.letter}{number}" for paper in PAPERS for number in range(1, paper.count + 1)]
    assert [(paper.letter, paper.count) for paper in PAPERS] == [("A", 10), ("B", 31), ("C", 11), ("D", 18), ("E", 31)]
    assert [each.id for each in CLAIMS] == wanted


def test_every_claim_is_measured_or_says_why_not() -> None:
    for each in CLAIMS:
        assert each.measure or each.unresolved, each.id
        assert each.because or not (each.unresolved or each.physical or each.holds), each.id


@pytest.mark.parametrize(
    ("number", "status"),
    [
        ("A6", "exact"),
        ("A10", "exact"),
        ("C3", "exact"),
        ("E1", "exact"),
        ("E2", "exact"),
        ("E3", "within"),
        ("A3", "trend"),
        ("C6", "trend"),
        ("A4", "refuted-because"),
        ("D17", "refuted-because"),
        ("A8", "within"),
        ("D10", "within"),
        ("D16", "trend"),
        ("B29", "not-specified"),
        ("E29", "out-of-reach"),
    ],
)
def test_verdicts(number: str, status: str) -> None:
    verdict = judge(claim(number))
    assert verdict.status == status, verdict
    assert verdict.because or status in ("exact", "within")


@pytest.mark.parametrize(("ours", "status"), [("1.33", "exact"), ("1.32", "within"), ("1.20", "refuted-because")])
def test_a_wrong_figure_is_refuted(ours: str, status: str) -> None:
    wrong = replace(claim("B3"), published={"slowdown": ours}, physical=None, tolerance=0.02, because="")
    verdict = judge(wrong)
    assert verdict.status == status
    assert verdict.because == ("slowdown: 1.33298 instead of 1.20" if status == "refuted-because" else "")


def test_a_figure_that_is_not_measured_leaves_a_trend_at_best() -> None:
    more = replace(claim("E2"), published={"Ring over Direct": "16.71", "with a tailwind": "20"})
    assert judge(more).because == "with a tailwind: nothing instead of 20"
    assert judge(replace(more, holds=lambda found: found["Ring over Direct"] > 1)).status is ClaimStatus.TREND


def test_a_direction_that_does_not_hold_is_refuted_whatever_the_figures() -> None:
    assert judge(replace(claim("A6"), holds=lambda found: found["64"] < found["4"])).status is ClaimStatus.REFUTED


def test_an_artefact_is_reproduced_and_vanishes_where_links_are_paid_for() -> None:
    slowdown, chunks = judge(claim("B21")), judge(claim("B27"))
    for verdict in (slowdown, chunks):
        assert (verdict.reproduced, verdict.status) == ("exact", "refuted-because")
    assert slowdown.measured["slowdown"] == pytest.approx(15.17, abs=0.005)
    assert slowdown.physical["slowdown"] < 1
    assert slowdown.physical["hierarchical"] < 0.2
    assert chunks.measured["1:1, 1000 MB, 8 over 1"] == pytest.approx(8)
    assert chunks.physical["1:1, 1000 MB, 8 over 1"] == pytest.approx(1, rel=0.01)


def test_what_hocket_cannot_do_is_said() -> None:
    def impossible() -> dict[str, float]:
        raise RequestError("there is no such network")

    verdict = judge(replace(claim("A1"), measure=impossible))
    assert (verdict.status, verdict.error) == ("failed", "there is no such network")


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("D", [f"D{number}" for number in range(1, 19)]),
        ("b3-b5, A1", ["A1", "B3", "B4", "B5"]),
        ("E30-31", ["E30", "E31"]),
        ("C2,C2", ["C2"]),
    ],
)
def test_some_are_chosen(words: str, ids: list[str]) -> None:
    assert [each.id for each in chosen(words)] == ids


@pytest.mark.parametrize("words", ["F", "A11", "B30-B32", "B5-B3", "A-B", "", "A,,B"])
def test_what_names_none_is_an_error(words: str) -> None:
    with pytest.raises(RequestError, match="no such paper, claim or range of claims; there are A1-A10, B1-B31"):
        chosen(words)


def test_verdicts_are_kept_and_not_measured_again(tmp_path: Path) -> None:
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    first = hocket("--only", "A6,D1", "--quick", "--json", kept, "--page", page)
    assert first.returncode == 0, first.stderr
    assert "2 claims: 2 exact" in first.stdout
    content = json.loads(kept.read_text())
    assert ClaimsBench.from_plain(content["request"], "kept.json").only == "A6,D1"
    assert [each["id"] for each in content["results"]] == ["A6", "D1"]
    assert "| **A6** the switch's time at 4 KB" in page.read_text()
    content["results"][0]["measured"]["64"] = 1.5
    content["results"][1]["published"]["PCIe, GB/s"] = "17"  # of another declaration: measured again
    content["results"][1]["measured"]["PCIe, GB/s"] = 1.5
    kept.write_text(json.dumps(content))
    hocket("--only", "A6,D1,D5", "--quick", "--json", kept)
    hocket("--only", "A1", "--quick", "--json", kept)
    added, first_kept, second_kept, third = read_verdicts(kept)  # in the order of the claims
    assert first_kept.measured["64"] == 1.5
    assert second_kept.measured["PCIe, GB/s"] == 16
    assert (added.id, third.id) == ("A1", "D5")


def test_what_is_done_is_kept_when_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(each: Claim, *, quick: bool) -> object:
        if each.id == "A4":
            raise KeyboardInterrupt
        return judge(each, quick=quick)

    kept = tmp_path / "kept.json"
    with monkeypatch.context() as context:
        context.setattr("hocket.bench.claims.kept.judge", interrupted)
        stopped = hocket("--only", "A", "--json", kept)
    assert stopped.returncode == 130
    assert [verdict.id for verdict in read_verdicts(kept)] == ["A1", "A2", "A3"]
    assert hocket("--only", "A", "--json", kept).returncode == 0
    assert len(read_verdicts(kept)) == 10


def test_bad_input(tmp_path: Path) -> None:
    assert "--only Z9: no such paper" in hocket("--only", "Z9").stderr
    (tmp_path / "bad.json").write_text("[{}]")
    bad = hocket("--only", "D5", "--json", tmp_path / "bad.json")
    assert bad.returncode == 3
    assert "not results of `hocket bench claims`" in bad.stderr
    assert "B22  localBWAware rescues 16" in hocket("--list").stdout


def test_the_evidence_page_is_that_of_its_verdicts() -> None:
    verdicts = read_verdicts(EVIDENCE)
    assert [verdict.id for verdict in verdicts] == [each.id for each in CLAIMS]
    stale = [verdict.id for verdict, each in zip(verdicts, CLAIMS, strict=True) if not verdict.is_of(each, quick=False)]
    assert not stale, "hocket bench claims --json docs/evidence.json --page docs/evidence.md"
    drawn = list(pictures(verdicts))
    assert EVIDENCE.with_suffix(".md").read_text(encoding="utf-8") == evidence_page(verdicts, drawn)
    for picture in drawn:
        assert (EVIDENCE.parent / "images" / picture.file).read_text(encoding="utf-8") == picture.svg


def test_ctrl_c_in_a_search_stops_the_suite() -> None:
    """Where `hocket synthesize` would take the best schedule found so far, a figure would depend on when it came."""

    def interrupt() -> None:
        while not any(thread.name == "synthesize" for thread in enumerate_threads()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    other = Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        synthesized("all_reduce", mesh("16x16"), 256 * 2**20)
        pytest.fail("the search ended, as if nothing had come")
    other.join()


def test_the_readme_counts_the_verdicts() -> None:
    counts = Counter(str(verdict.status) for verdict in read_verdicts(EVIDENCE))
    told = (
        f"{counts.total()} claims of five papers, measured again](docs/evidence.md): {counts['exact']} exact, "
        f"{counts['within']} within their tolerance, {counts['trend']} in their trend, "
        f"{counts['refuted-because']} refuted with the reason"
    )
    assert told in (EVIDENCE.parents[1] / "README.md").read_text(encoding="utf-8")
