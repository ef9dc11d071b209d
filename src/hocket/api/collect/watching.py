"""Follows a job that is being recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hocket.api.collect.request import CollectionWatch
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.errors import FormatError
from hocket.base.processes import started
from hocket.recording import watch as recorded
from hocket.recording.folder import stream_path, stream_paths
from hocket.recording.hangs import Report

__all__ = ["Watched", "watch", "watching"]


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
    """Says each report when it is there; the result has its exit code."""
    folder = Path(request.folder)
    told: list[Report] = []

    def tell(report: Report) -> None:
        told.append(report)
        lines = [json.dumps(asdict(report))] if request.json else [*report.text()] or ["nothing hangs"]
        for line in lines:
            progress.say(line)

    if not request.once:
        return Watched(request, told, recorded.watch(folder, request.timeout, tell))
    if not stream_paths(folder):
        raise FormatError(f"{stream_path(folder, 0).parent}: no rank*.stream: is this the folder of a collection?")
    watcher = recorded.Watch(folder, request.timeout)
    report = watcher.look()
    tell(report)
    return Watched(request, told, watcher.verdict(report))


@contextmanager
def watching(folder: str, wanted: bool) -> Iterator[None]:
    """While inside and `wanted`, another process says on stderr what the job that writes into `folder` waits for when
    it hangs."""
    if not wanted:
        yield
        return
    with started([sys.executable, "-m", "hocket", "collect", "watch", folder], stdout=sys.stderr):
        yield
