"""`hocket bench claims`: the claims measured, and what came of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.bench.request import ClaimsBench
from hocket.api.progress import Progress
from hocket.api.result import Report, Result
from hocket.base.errors import ExitCode
from hocket.base.files import make_folder, write_file
from hocket.base.text_table import text_table
from hocket.bench.claims.claim import ClaimStatus, ClaimVerdict
from hocket.bench.claims.kept import KeptVerdicts
from hocket.bench.claims.page import counted, evidence_page, figures_text
from hocket.bench.claims.pictures import pictures
from hocket.bench.claims.registry import chosen

__all__ = ["ClaimsResult", "perform"]

_WIDTH = 56  # of a cell of figures


@dataclass(eq=False, repr=False)
class ClaimsResult(Result):
    """A verdict a claim; `exit_code` is not 0 where Hocket could not measure one."""

    request: ClaimsBench
    verdicts: Sequence[ClaimVerdict]

    def __post_init__(self) -> None:
        failed = any(verdict.status is ClaimStatus.FAILED for verdict in self.verdicts)
        self.exit_code = ExitCode.CHECK_FAILED if failed else ExitCode.DONE

    def headline(self) -> str:
        return f"{len(self.verdicts)} claims: {counted(self.verdicts)}"

    def summary(self) -> str:
        rows = [
            (
                verdict.id,
                verdict.status,
                verdict.reproduced or "",
                _cut(figures_text(verdict.published, verdict.unit)),
                _cut(figures_text(verdict.measured, verdict.unit)),
                _cut(figures_text(verdict.physical, verdict.unit)),
            )
            for verdict in self.verdicts
        ]
        heads = ("claim", "status", "reproduced", "published", "ours", "physical")
        return "\n".join([*text_table(heads, rows, align="<<<<<<"), "", *self._reasons(), self.headline()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("id", "status", "seconds", "because")
        claims = {name: np.array([getattr(verdict, name) for verdict in self.verdicts]) for name in names}
        rows = [
            (verdict.id, name, verdict.published.get(name, ""), value, verdict.physical.get(name, np.nan))
            for verdict in self.verdicts
            for name, value in verdict.measured.items()
        ]
        heads = ("id", "figure", "published", "measured", "physical")
        columns = zip(*rows, strict=True) if rows else [()] * len(heads)
        figures = {name: np.array(column) for name, column in zip(heads, columns, strict=True)}
        return {"claims": claims, "figures": figures}

    def _reasons(self) -> list[str]:
        """Why claims are refuted, or could not be measured: a line a reason."""
        told: dict[str, list[str]] = {}
        for verdict in self.verdicts:
            if verdict.status in (ClaimStatus.REFUTED, ClaimStatus.FAILED):
                told.setdefault(f"{verdict.status} {verdict.error or verdict.because}", []).append(verdict.id)
        return [f"{', '.join(ids)}: {reason}" for reason, ids in told.items()]


def perform(request: ClaimsBench, progress: Progress) -> ClaimsResult | Report:
    """Measures the claims one after the other; each verdict is kept as it comes. Raises RequestError where --only names
    none."""
    claims = chosen(request.only)
    if request.list_claims:
        return Report(request, [f"{claim.id:<4} {claim.claim} ({claim.where})" for claim in claims])
    kept = KeptVerdicts.load(None if request.json is None else Path(request.json), request.to_plain())
    verdicts = []
    for number, verdict in enumerate(kept.judged(claims, quick=request.quick), start=1):
        verdicts.append(verdict)
        progress.count(number, len(claims), "claims")
        progress.status(f"{verdict.id}: {verdict.status}")
    if request.page is not None:
        _write_page(Path(request.page), verdicts)
    return ClaimsResult(request, verdicts)


def _write_page(page: Path, verdicts: Sequence[ClaimVerdict]) -> None:
    drawn = list(pictures(verdicts))
    if drawn:
        folder = make_folder(page.parent / "images")
        for picture in drawn:
            write_file(folder / picture.file, picture.svg.encode())
    write_file(page, evidence_page(verdicts, drawn).encode())


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
