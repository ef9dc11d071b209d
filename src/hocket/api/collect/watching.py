"""Follows a job that is being recorded."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hocket.api.collect.request import CollectionWatch
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import FormatError
from hocket.base.files import growing_lines
from hocket.base.processes import started
from hocket.chakra.job_folders import STREAMS, find_job
from hocket.recording import watch as recorded
from hocket.recording.folder import no_streams, stream_paths
from hocket.recording.hangs import Report

__all__ = ["Watched", "watch", "watching"]

_PAUSE_S = 0.5


@dataclass(eq=False, repr=False)
class Watched(Result):
    """What was said of a job that was watched, the last at last."""

    request: CollectionWatch
    reports: list[Report]
    exit_code: int

    def headline(self) -> str:
        return next((line for report in self.reports[-1:] for line in report.text()), "nothing hangs")

    def summary(self) -> str:
        return ""  # all was said when it was so


def watch(request: CollectionWatch, progress: Progress) -> Watched:
    """Says each report when it is there; the result has its exit code. Of a folder of jobs the latest is followed, of
    an empty one the first that comes."""
    told: list[Report] = []
    with growing_lines(request.json) as lines:

        def tell(report: Report) -> None:
            told.append(report)
            lines(json.dumps(asdict(report)))
            for line in report.text():
                progress.say(line)

        folder = find_job(request.folder).path
        if not request.once:
            return Watched(request, told, recorded.watch(_begun(request, progress), request.timeout, tell))
        if not stream_paths(folder):
            raise no_streams(folder)
        watcher = recorded.Watch(folder, request.timeout)
        report = watcher.look()
        tell(report)
        return Watched(request, told, watcher.verdict(report))


def _begun(request: CollectionWatch, progress: Progress) -> Path:
    """The job's folder, once there is one; says that it waits for a job when none has come in `timeout` seconds."""
    try:
        find_job(request.folder)
    except FormatError:  # the first job's folder is there a moment before `latest` leads to it
        time.sleep(_PAUSE_S)
    looks = 0
    while not (job := find_job(request.folder).path / STREAMS).is_dir():
        time.sleep(_PAUSE_S)
        looks += 1
        if looks == request.timeout / _PAUSE_S:
            progress.note(
                f"no job records into {request.folder} yet: waiting for one that runs with"
                f" HOCKET_COLLECT={request.folder} (Ctrl-C ends this)"
            )
    return job.parent


@contextmanager
def watching(folder: Path, wanted: bool) -> Iterator[None]:
    """While inside and `wanted`, another process says on stderr what the job that writes into `folder` waits for when
    it hangs."""
    if not wanted:
        yield
        return
    with started([sys.executable, "-m", "hocket", "collect", "watch", str(folder)], stdout=sys.stderr):
        yield
