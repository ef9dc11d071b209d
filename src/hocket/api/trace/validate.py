"""Checks whether traces are complete and consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.trace.request import TraceValidation
from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines
from hocket.chakra.astra_sim import violations
from hocket.chakra.losses import LOSSES
from hocket.chakra.profile import TraceProfile
from hocket.chakra.validate import TraceFinding, TraceSeverity, validate_files

__all__ = ["CheckedTraces", "perform"]


def perform(request: TraceValidation, progress: Progress) -> CheckedTraces:
    files = request.files
    traces = request.files.open()
    findings, num_nodes = validate_files(traces, across_ranks=not Path(files.traces).is_file())
    if request.profile == TraceProfile.ASTRA_SIM:
        findings += violations(traces.read())
    if request.accept_losses:
        findings = [
            replace(each, severity=TraceSeverity.WARNING) if each.field == LOSSES else each for each in findings
        ]
    return CheckedTraces(request, traces.num_ranks, num_nodes, tuple(findings))


@dataclass(frozen=True, eq=False, repr=False)
class CheckedTraces(Result):
    """What is wrong with traces; `exit_code` is not 0 where there are errors."""

    request: TraceValidation
    num_ranks: int
    num_nodes: int
    findings: tuple[TraceFinding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.severity is TraceSeverity.ERROR for finding in self.findings)

    @property
    def exit_code(self) -> ExitCode:  # type: ignore[override]
        return ExitCode.CHECK_FAILED if self.errors else ExitCode.DONE

    def headline(self) -> str:
        warnings = len(self.findings) - self.errors
        return f"{self.num_ranks} ranks, {self.num_nodes} nodes: {self.errors} errors, {warnings} warnings"

    def details(self) -> Mapping[str, Any]:
        counts = {"num_ranks": self.num_ranks, "num_nodes": self.num_nodes, "num_errors": self.errors}
        return {**counts, "findings": [asdict(each) for each in self.findings]}

    def summary(self) -> str:
        return printable_lines([*map(str, self.findings), self.headline()])
