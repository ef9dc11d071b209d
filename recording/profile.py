"""A rank's profile of Kineto put together with its recording: which thread and which call is which."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.issues import Issue, issues_of
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.recording.recording import Recording

__all__ = ["RecordedProfile", "join"]

Numbers = NDArray[np.int64]

# Nanoseconds by which the profiler's wall clock and the collector's may differ; by which times may jitter then.
_CLOCK_ERROR = 200_000
_JITTER = 50_000


@dataclass(frozen=True, eq=False)
class RecordedProfile:
    """A rank's timeline beside its recording, whose times are on the job's clock.

    `threads` are the recording's names of the timeline's threads that issued calls; `issues` the timeline's operations,
    and `rows` the call of the recording that each is, as far as it has one. `shifts` are what makes a time of the
    timeline one of the job's clock at each of the recording's calls.
    """

    kineto: Kineto
    recording: Recording
    threads: Mapping[int, int]
    issues: list[Issue]
    rows: Mapping[Issue, int]
    shifts: Numbers

    @property
    def unmatched(self) -> tuple[int, int]:
        """How many operations only the timeline has, and how many calls only the recording."""
        return len(self.issues) - len(self.rows), len(self.recording) - len(self.rows)

    def on_job_clock(self, times: Numbers) -> Numbers:
        """Times of the timeline, in ns, on the job's clock."""
        starts = self.recording.columns.issued
        at = np.searchsorted(starts, times + self.shifts[0]).clip(max=len(starts) - 1)
        moved: Numbers = times + self.shifts[at]
        return moved


def join(path: Path, kineto: Kineto, recording: Recording, own: Recording | None = None) -> RecordedProfile:
    """Puts the timeline read from `path` together with the recording of the rank, which has calls; `own` is the same by
    the rank's own clock, where its times were moved.

    The collector's calls lie within the profiler's `c10d::` operations, so these tell by how much the two clocks
    differ. An operation is then the call that lies within it or next to it, the nearest first, of its thread, its kind
    and, where the timeline tells it, its group.

    Raises FormatError, naming the file, for a timeline that is cut off or has none of the calls.
    """
    if kineto.is_cut:
        raise FormatError(f"{path}: it is cut off")
    own = own or recording
    issues = issues_of(kineto.events)
    offset = kineto.base - (own.meta.epoch_ns - own.meta.perf_ns)
    apart = _apart(np.array([issue.event.start for issue in issues], np.int64) + offset, own.columns.issued)
    if apart is None:
        raise FormatError(f"{path}: it has none of the rank's calls: it is of another run, or of other steps")
    threads = _threads(issues, own, offset + apart)
    rows = _rows(issues, own, offset + apart, threads)
    shifts = offset + apart + recording.columns.issued - own.columns.issued
    return RecordedProfile(kineto, recording, threads, issues, rows, shifts)


def _apart(operations: Numbers, calls: Numbers) -> int | None:
    """By how much calls come after the operations that they are next to, and that are next to them; None where there
    are none. Of either there may be some that the other lacks.

    It is the lower median: a thread that loses its core between the operation's begin and the call makes that call
    late, never early, and a mean of two would put the others in front of their operations."""
    if len(operations) == 0:
        return None
    nearest = _nearest(operations, calls)
    mutual = _nearest(calls, operations)[nearest] == np.arange(len(operations))
    apart = (calls[nearest] - operations)[mutual]
    apart = apart[np.abs(apart) <= _CLOCK_ERROR]
    return int(np.sort(apart)[(len(apart) - 1) // 2]) if len(apart) else None


def _nearest(times: Numbers, among: Numbers) -> Numbers:
    """The index of what is nearest to each of the times, both ascending."""
    behind = np.searchsorted(among, times).clip(1, max(len(among) - 1, 1))
    before = behind - 1
    behind = np.minimum(behind, len(among) - 1)
    nearest: Numbers = np.where(times - among[before] <= among[behind] - times, before, behind)
    return nearest


def _within(issue: Issue, recording: Recording, offset: int) -> range:
    """The calls that may lie within an operation."""
    event = issue.event
    span = (event.start + offset - _JITTER, event.end + offset + _JITTER)
    first, behind = np.searchsorted(recording.columns.issued, span).tolist()
    return range(first, behind)


def _threads(issues: Sequence[Issue], recording: Recording, offset: int) -> dict[int, int]:
    names: dict[int, Counter[int]] = defaultdict(Counter)
    for issue in issues:
        names[issue.event.thread].update(recording.columns.thread[list(_within(issue, recording, offset))].tolist())
    return {thread: counted.most_common(1)[0][0] for thread, counted in names.items() if counted}


def _rows(issues: Sequence[Issue], recording: Recording, offset: int, threads: Mapping[int, int]) -> dict[Issue, int]:
    columns = recording.columns
    near: list[tuple[int, int, int]] = []  # distance, issue, call
    for number, issue in enumerate(issues):
        begin, end = issue.event.start + offset, issue.event.end + offset
        for row in _within(issue, recording, offset):
            shape, time = recording.shapes[columns.shape[row]], int(columns.issued[row])
            is_it = columns.thread[row] == threads[issue.event.thread] and shape.kind == issue.described.kind
            if is_it and issue.group in (None, shape.group.name):
                near.append((max(begin - time, time - end, 0), number, row))
    rows: dict[Issue, int] = {}
    taken: set[int] = set()
    for _, number, row in sorted(near):
        if issues[number] not in rows and row not in taken:
            rows[issues[number]] = row
            taken.add(row)
    return rows
