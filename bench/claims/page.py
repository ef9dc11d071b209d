"""The verdicts as a page of the documentation: a table a paper."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hocket.bench.claims.claim import ClaimStatus, ClaimVerdict
from hocket.bench.claims.papers import PAPERS, Paper
from hocket.bench.claims.pictures import Picture

__all__ = ["counted", "evidence_page", "figures_text"]

_MOST = 6  # figures of a claim that a cell shows
_MEANING = {
    ClaimStatus.EXACT: "all published figures, to the last digit printed",
    ClaimStatus.WITHIN: "within the tolerance of the claim",
    ClaimStatus.TREND: "the order or direction that is claimed holds; figures differ, or there were none",
    ClaimStatus.REFUTED: "the claim does not hold, for the reason that is named",
    ClaimStatus.NOT_SPECIFIED: "the paper does not say what would have to be run",
    ClaimStatus.OUT_OF_REACH: "needs hardware, or data that was not published",
    ClaimStatus.NOT_YET: "needs a model that Hocket does not have yet",
    ClaimStatus.FAILED: "Hocket could not measure it",
}
_HEAD = """# Evidence

Every claim of the five papers that Hocket starts from, measured again. This page is written by
```
hocket bench claims --json docs/evidence.json --page docs/evidence.md
```
`--only A,B3-B21,E2` takes some papers or claims, `--quick` leaves out what takes minutes, `--list` prints them all.
With `--json FILE` each verdict is kept as it comes: a run that was stopped (Ctrl-C) goes on where it was, and a claim
whose declaration has changed is measured again (delete the file to start anew). What was published is declared beside
how it is measured, an entry a claim, in `bench/claims/`; every figure in *ours* and *physical* comes from a run.

Where a paper's figures come from ASTRA-sim, *ours* is Hocket's [ASTRA-sim mode](astra-sim.md) and *physical* the same
question to Hocket's congestion model, in which messages wait for links. The status is that of the claim about networks;
*reproduced* says whether the figures are those of the peer's model.
"""


def evidence_page(verdicts: Sequence[ClaimVerdict], drawn: Sequence[Picture] = ()) -> str:
    """The page, in Markdown, with the pictures as files of the folder `images` beside it."""
    lines = [_HEAD, "| status | claims | what it means |", "|---|---:|---|"]
    counts = Counter(verdict.status for verdict in verdicts)
    lines += [f"| {status} | {counts[status]} | {meaning} |" for status, meaning in _MEANING.items() if counts[status]]
    for paper in PAPERS:
        chapter = [verdict for verdict in verdicts if verdict.id[0] == paper.letter]
        if chapter:
            lines += ["", *_chapter(paper, chapter)]
            own = [each for each in drawn if each.letter == paper.letter]
            lines += [f"\n![{each.caption}](images/{each.file})\n*{each.caption}.*" for each in own]
    return "\n".join(lines) + "\n"


def _chapter(paper: Paper, verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    yield f"## {paper.letter}1 to {paper.letter}{paper.count}"
    yield f"**{paper.title}**. {paper.source}. {counted(verdicts)}."
    yield ""
    yield paper.setup
    yield ""
    physical = any(verdict.physical for verdict in verdicts)
    heads = ["claim", "published", "ours", *(["physical"] if physical else []), "status", "why"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for verdict in verdicts:
        cells = [
            f"**{verdict.id}** {verdict.claim} ({verdict.where}). *{verdict.setup}*",
            figures_text(verdict.published, verdict.unit),
            figures_text(verdict.measured, verdict.unit),
            *([figures_text(verdict.physical, verdict.unit)] if physical else []),
            _status(verdict),
            verdict.error or verdict.because,
        ]
        yield f"| {' | '.join(cells)} |"


def _status(verdict: ClaimVerdict) -> str:
    words = str(verdict.status)
    if verdict.status is ClaimStatus.WITHIN:
        words += f" {verdict.tolerance:.0%}"
    return words if verdict.reproduced is None else f"{words}; reproduced: {verdict.reproduced}"


def counted(verdicts: Sequence[ClaimVerdict]) -> str:
    """How many have each status, in words."""
    counts = Counter(verdict.status for verdict in verdicts)
    return ", ".join(f"{counts[status]} {status}" for status in ClaimStatus if counts[status])


def figures_text(figures: Mapping[str, str] | Mapping[str, float], unit: str) -> str:
    """The figures with their names, where there are several, and their unit; of many the first."""
    shown = [
        (name, value if isinstance(value, str) else f"{value:.5g}") for name, value in list(figures.items())[:_MOST]
    ]
    space = "" if unit == "x" else " " * bool(unit)
    texts = [f"{value}{space}{unit}" if len(figures) == 1 else f"{name}: {value}{space}{unit}" for name, value in shown]
    left = len(figures) - len(shown)
    return "; ".join(texts) + (f"; and {left} more" if left else "")
