"""The JSON of `hocket verify --json`: what each runtime does with a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.base.files import write_json

if TYPE_CHECKING:
    from hocket.translator import Judgement
    from hocket.translator.mscclpp import PlanJudgement

__all__ = ["write_verdicts"]


def write_verdicts(file: Path, judgements: "Sequence[Judgement | PlanJudgement]", path: Path) -> None:
    """Writes the verdicts , by runtime."""
    write_json(path, {"file": str(file), "runtimes": {str(one.runtime): _fields(one) for one in judgements}})


def _fields(one: "Judgement | PlanJudgement") -> dict[str, Any]:
    return {
        "verdict": str(one.verdict),
        "runnable": one.runnable,
        "correct": one.correct,
        "selectable": one.selectable,
        "safe": one.safe,
        "largest_safe_bytes": one.largest_safe_bytes,
        "reasons": list(one.reasons),
        "findings": [
            {
                "rule": finding.rule,
                "severity": str(finding.severity),
                "line": finding.line,
                "element": finding.element,
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for finding in one.findings
        ],
    }
