"""Verification of schedules, alone and at once."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.api.verify.request import Verification
from hocket.api.verify.result import VerificationResult
from hocket.base.errors import ScheduleError
from hocket.schedule import AnySchedule, save, verify, verify_together

__all__ = ["verify_schedules"]


def verify_schedules(
    request: Verification, schedules: Sequence[AnySchedule], by: str | None = None
) -> VerificationResult:
    """Proves the schedules, which the request's files are called after; several at once share their links. `by`: who
    made them, where they do not say so themselves. Writes the schedule where the request says, when it is proved."""
    try:
        at_once = len(schedules) > 1
        report = verify_together([each.expand() for each in schedules]) if at_once else verify(schedules[0])
    except ScheduleError as error:
        return VerificationResult(request, (), [str(error)], schedules=schedules)
    of_all = ", of each and of all at once" if at_once else ""
    lines = [
        f"{file}: {schedule.collective.describe()} on {schedule.topology.name}, by {by or schedule.generator}"
        for file, schedule in zip(request.files, schedules, strict=True)
    ]
    lines.append(f"proved: {report.describe()}: values, links and causality{of_all}")
    if request.output is not None:
        save(schedules[0], request.output)
        lines.append(f"written {request.output}")
    return VerificationResult(request, lines, schedules=schedules)
