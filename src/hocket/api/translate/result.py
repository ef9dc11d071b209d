"""What a translation comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.api.result import Result
from hocket.api.run.request import ProgramRun
from hocket.api.translate.request import Translation
from hocket.api.verify.request import Verification
from hocket.base.errors import RequestError
from hocket.base.text import printable_lines
from hocket.schedule import Schedule
from hocket.translator import Translated
from hocket.translator.bundle import BundleReport
from hocket.translator.mscclpp import TranslatedPlan

if TYPE_CHECKING:
    from hocket.api.run.result import ProgramRunResult
    from hocket.api.verify.result import VerificationResult

__all__ = ["TranslationResult"]


class TranslationResult(Result):
    """What was written and proved: `made` is a program or a plan with its proofs, a bundle, or the schedule that a
    format holds as it is."""

    def __init__(
        self,
        request: Translation,
        lines: Sequence[str],
        made: Translated | TranslatedPlan | BundleReport | Schedule,
    ) -> None:
        self.request: Translation = request
        self.made = made
        self._lines = tuple(lines)

    def summary(self) -> str:
        return printable_lines(self._lines)

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """Of a bundle its files."""
        if not isinstance(self.made, BundleReport):
            return {}
        names = ("path", "in_place", "min_bytes", "max_bytes", "chunks", "thread_blocks", "source")
        return {"files": {name: np.array([getattr(file, name) for file in self.made.bundle.files]) for name in names}}

    def verify(self, **options: Any) -> VerificationResult:
        """`hocket.verify` of what was written."""
        if self.request.output is None:
            raise RequestError("a bundle is verified program by program: hocket.verify of its files")
        result: VerificationResult = Verification.ask(self.request.output, **options)
        return result

    def run(self, **options: Any) -> ProgramRunResult:
        """`hocket.run` of what was written, on processes of this machine."""
        where = {"bundle": self.request.bundle} if self.request.bundle else {"file": self.request.output}
        result: ProgramRunResult = ProgramRun.ask(**where, **options)
        return result
