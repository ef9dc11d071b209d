"""What a look at the installation comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hocket.api.doctor.findings import PartFinding, PartState
from hocket.api.doctor.request import InstallationCheck
from hocket.api.result import Result
from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table

__all__ = ["CheckedInstallation"]


@dataclass(frozen=True, eq=False, repr=False)
class CheckedInstallation(Result):
    """`where` this is, and what was found of each part; `exit_code` is 1 where one is there and does not work."""

    request: InstallationCheck
    where: str
    findings: tuple[PartFinding, ...]

    @property
    def exit_code(self) -> ExitCode:  # type: ignore[override]
        return ExitCode.CHECK_FAILED if self._count(PartState.BROKEN) else ExitCode.DONE

    def headline(self) -> str:
        states = (f"{count} {state}" for state in PartState if (count := self._count(state)))
        return f"{', '.join(states)} of {len(self.findings)} parts"

    def summary(self) -> str:
        rows = []
        for each in self.findings:
            rows.append((each.part, str(each.state), each.found))
            if each.remedy:
                rows.append(("", "", f"  {each.remedy}"))
        return printable_lines([self.where, *text_table(("part", "state", "what"), rows, align="<<<"), self.headline()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        names = ("part", "state", "found", "remedy")
        return {"parts": {name: np.array([str(getattr(each, name)) for each in self.findings]) for name in names}}

    def details(self) -> Mapping[str, Any]:
        return {"where": self.where, "parts": [asdict(each) | {"state": str(each.state)} for each in self.findings]}

    def _count(self, state: PartState) -> int:
        return sum(each.state is state for each in self.findings)
