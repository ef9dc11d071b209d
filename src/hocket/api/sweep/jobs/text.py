"""A sweep over jobs as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hocket.base.text_table import text_table
from hocket.report.sweep_rows import ALIKE, job_columns
from hocket.simulator.analysis import SweptJob, SweptJobs

__all__ = ["counted", "sweep_lines"]

_MOST_ROWS = 16


def counted(jobs: SweptJobs) -> str:
    """How many were simulated, and why others were not."""
    number, done = len(jobs.jobs), len(jobs.done)
    over = sum(not job.outcome.fits for job in jobs.done)
    marked = f" ({over} of them over their memory)" if over else ""
    reasons = ", ".join(f"{len(them)} {reason.words}" for reason, them in jobs.skipped.items())
    skipped = f", {number - done} skipped ({reasons})" if reasons else ""
    return f"{number} point{'s' * (number != 1)}: {done} simulated{marked}{skipped}"


def sweep_lines(jobs: SweptJobs) -> Iterator[str]:
    """What was found: the best of each topology, and the Pareto sets."""
    yield counted(jobs)
    for reason, them in jobs.skipped.items():
        first = them[0]
        yield f"  {reason.words}, such as point {first.number} ({first.name}): {first.outcome.skipped}"
    if unlike := [*jobs.unlike]:
        yield ""
        yield from unlike
        yield f"  {ALIKE}"
    if len(jobs.rivals) > 1:
        yield ""
        yield "the fastest of each model on each topology:"
        yield from _table([*jobs.best])
    for (what, topology), rivals in jobs.rivals.items():
        pareto = [job for job in rivals if job.number in jobs.pareto]
        yield ""
        yield f"{what} on {topology}, the fastest first, then what needs less memory than all that are faster:"
        yield from _table(pareto[:_MOST_ROWS])
        if len(pareto) > _MOST_ROWS:
            yield f"  and {len(pareto) - _MOST_ROWS} more: column pareto of results.csv"


def _table(jobs: Sequence[SweptJob]) -> list[str]:
    columns = job_columns(jobs)
    rows = [[column.cell(job) for column in columns] for job in jobs]
    return text_table([column.head for column in columns], rows, align="".join("><"[each.left] for each in columns))
