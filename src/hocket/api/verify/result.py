"""What a verification comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hocket.api.result import Result
from hocket.api.verify.request import Verification
from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines
from hocket.schedule import AnySchedule
from hocket.translator import Judgement
from hocket.translator.msccl.findings import Finding
from hocket.translator.mscclpp import PlanJudgement

__all__ = ["VerificationResult"]

AnyJudgement = Judgement | PlanJudgement


class VerificationResult(Result):
    """What was proved, and where it is wrong (`warnings`); `proved`: all that was asked for. `schedules`: what was
    proved of files with such; `judgements`: what runtimes do with a program."""

    def __init__(
        self,
        request: Verification,
        lines: Sequence[str],
        refutations: Sequence[str] = (),
        *,
        proved: bool | None = None,
        schedules: Sequence[AnySchedule] = (),
        judgements: Sequence[AnyJudgement] = (),
    ) -> None:
        self.request: Verification = request
        self.proved = not refutations if proved is None else proved
        self.exit_code = ExitCode.DONE if self.proved else ExitCode.CHECK_FAILED
        self.warnings = tuple(f"NOT PROVED: {each}" for each in refutations)
        self.schedules, self.judgements = tuple(schedules), tuple(judgements)
        self._lines = tuple(lines)

    def headline(self) -> str:
        told = [line for line in self._lines if line.startswith("proved: ")]
        return f"{', '.join(self.request.files)}: {told[-1] if self.proved and told else 'not proved'}"

    def summary(self) -> str:
        return printable_lines(self._lines)

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        rows = [_verdict(one) for one in self.judgements]
        return {"runtimes": {name: np.array([row[name] for row in rows]) for name in rows[0]}} if rows else {}

    def as_json(self) -> dict[str, Any]:
        """The verdicts by runtime, with the request that was answered."""
        runtimes = {
            str(one.runtime): {
                **_verdict(one),
                "reasons": list(one.reasons),
                "findings": list(map(_finding, one.findings)),
            }
            for one in self.judgements
        }
        return {"file": self.request.files[0], "runtimes": runtimes, "request": self.request.to_plain()}


def _verdict(one: AnyJudgement) -> dict[str, Any]:
    return {
        "verdict": str(one.verdict),
        "runnable": one.runnable,
        "correct": one.correct,
        "selectable": one.selectable,
        "safe": one.safe,
        "largest_safe_bytes": one.largest_safe_bytes,
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "severity": str(one.severity),
        "line": one.line,
        "element": one.element,
        "message": one.message,
        "remedy": one.remedy,
    }
