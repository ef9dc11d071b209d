"""What a sweep over jobs came to."""

from __future__ import annotations

from hocket.api.sweep.jobs.text import counted, sweep_lines
from hocket.api.sweep.request import Sweep
from hocket.api.sweep.result import SweepResult
from hocket.base.text import printable_lines
from hocket.simulator.analysis import Columns, SweptJobs

__all__ = ["JobSweepResult"]


class JobSweepResult(SweepResult):
    """Columns, a row per point: `columns()["results"]`; `jobs`: what was found of each."""

    def __init__(self, request: Sweep, results: Columns, jobs: SweptJobs) -> None:
        super().__init__(request, results)
        self.jobs = jobs

    def headline(self) -> str:
        return counted(self.jobs)

    def summary(self) -> str:
        return printable_lines([*sweep_lines(self.jobs), "", *(f"wrote {path}" for path in self.written)])
